#!/usr/bin/env bash
# The GPU tests of a build tree whose names match one expression and not another. On a GPU a test that skips itself has
# shown nothing, so that it fails here, unless what it needs is no part of every build (cuDNN).
# usage: ci/gpu_tests.sh TREE INCLUDE EXCLUDE
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
ctest --test-dir "$1" --output-on-failure --no-tests=error -R "$2" -E "$3" | tee "$log"
code=${PIPESTATUS[0]}
if grep -q 'no CUDA device' "$log" || grep -Eq '\*\*\*Skipped' "$log"; then
  echo "tests were skipped:"
  grep -E '\*\*\*Skipped' "$log"
  grep -E '\*\*\*Skipped' "$log" | grep -qv 'TheLibraryEqualsTheOwnKernels' && code=1
fi
exit "$code"
