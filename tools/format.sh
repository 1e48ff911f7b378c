#!/bin/sh
# tools/format.sh [--check] [FILE...]: formats the C++ of the tree, or says which files are not formatted.
set -eu
cd "$(dirname "$0")/.."
mode="-i"
if [ "${1:-}" = --check ]; then
  mode="--dry-run --Werror"
  shift
fi
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2046
  set -- $(find tidemark tools tests bench examples -name '*.h' -o -name '*.cc' 2>/dev/null | sort)
fi
# shellcheck disable=SC2086
exec clang-format $mode "$@"
