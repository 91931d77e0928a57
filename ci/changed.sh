#!/usr/bin/env bash
# Builds and runs exactly the tests that a change can affect, in the tree of preset dev: ci/test.sh --changed [COMMIT].
# The change holds all differences from COMMIT, also those that are not committed. COMMIT is HEAD by default.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
tree=build/dev
commit=$(git rev-parse --verify --quiet "${1:-HEAD}^{commit}") || { echo "ci/test.sh --changed: no commit '${1:-HEAD}'" >&2; exit 3; }
begin=$SECONDS
mkdir -p "$tree" build/ci
cmake --preset dev >build/ci/changed.log
mapfile -t targets < <(ci/affected.py "$tree" --since "$commit" | awk NF)
if [ ${#targets[@]} -eq 0 ]; then
  echo "no test depends on a source that differs from ${1:-HEAD}"
  exit 0
fi
echo "affected: ${targets[*]}"
# On a terminal, ninja's progress is one line.
if [ -t 1 ]; then
  ninja -C "$tree" "${targets[@]}"
else
  ninja -C "$tree" "${targets[@]}" >build/ci/changed.log 2>&1 || { cat build/ci/changed.log; exit 1; }
fi
built=$SECONDS
jobs=$(nproc)
# Most tests of the engine compute on one thread; those about threads set their own number.
OMP_NUM_THREADS=1 ctest --test-dir "$tree" --output-on-failure -j "$jobs" -L "^($(IFS='|'; echo "${targets[*]}"))\$" \
  -E '_NOT_BUILT$' 2>&1 | tee build/ci/changed.log | grep -vE '^ *(Start +[0-9]|[0-9]+/[0-9]+ Test .* Passed)' || failed=1
read -r passed failures skipped < <(awk -f ci/count_tests.awk build/ci/changed.log)
echo "$passed passed, $failures failed, $skipped skipped; $((built - begin)) s to build, $((SECONDS - built)) s to test"
[ "$failures" -eq 0 ] && [ -z "${failed:-}" ]
