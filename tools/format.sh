#!/bin/sh
# tools/format.sh [--check] [FILE...]: formats the C++ of the tree, or says which files are not formatted. Other versions
# than clang-format 14 format otherwise, so the check is skipped (status 77) where that one is missing.
set -eu
cd "$(dirname "$0")/.."
mode="-i"
if [ "${1:-}" = --check ]; then
  mode="--dry-run --Werror"
  shift
  if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "skipped: clang-format 14 is not installed"
    exit 77
  fi
fi
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2046
  set -- $(find tidemark tools tests bench examples -name '*.h' -o -name '*.cc' 2>/dev/null | sort)
fi
# shellcheck disable=SC2086
exec clang-format $mode "$@"
