#!/bin/sh
# The pictures of docs/, drawn by the command itself.
#
# usage: make_pictures.sh TIDEMARK             draw them to docs/pictures/
#        make_pictures.sh TIDEMARK --check     draw them elsewhere, and fail where those of docs/ are others
#
# All of them follow from the program alone: efforts are counted in work, times are those of the reference machine.
set -eu
tidemark=$1
pictures=$(cd "$(dirname "$0")/.." && pwd)/docs/pictures
folder=$pictures
if [ "${2:-}" = --check ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

draw() {  # NAME ARGUMENTS…
  name=$1
  shift
  "$tidemark" "$@" --svg "$folder/$name.svg" >/dev/null
}
draw frontier_gpt frontier gpt --batch 2 --points 12 --effort quick
draw frontier_choices frontier gpt --batch 2 --points 6 --effort quick --allow recompute --allow recompute,disk --tier disk=1GiB
draw schedule_binomial schedule --steps 40 --slots 4 --kind binomial
draw schedule_levels schedule --steps 40 --slots 2,4 --kind multilevel --write-cost 0,1 --read-cost 0,1

[ "$folder" = "$pictures" ] || diff -r "$pictures" "$folder" || {
  echo "docs/pictures is not what the command draws: tools/make_pictures.sh TIDEMARK draws them again" >&2
  exit 1
}
