#!/usr/bin/env bash
# Builds and tests everything: the stages of ci/stages in their order, or those named.
# usage: ci/test.sh [--no-install] [STAGE ...]     a STAGE is the name of its script, with or without number and .sh
#        ci/test.sh --approve                    rewrites the golden files in place of testing (ci/approve.sh)
# Ends with "N passed, N failed, N skipped": tests, and one for a stage that runs no ctest.
set -u

root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/ci/*}
cd "$root" || exit 4
# shellcheck source=ci/setup.sh
. ci/setup.sh

if [ "${1:-}" = --approve ]; then require_packages install run test && exec bash ci/approve.sh; fi
packages=install
if [ "${1:-}" = --no-install ]; then packages=report; shift; fi

# selected SCRIPT NAME...: whether the script is one of the names; no name selects all.
selected() {
  local script=${1##*/} name; shift
  script=${script%.sh}
  [ $# -gt 0 ] || return 0
  for name in "$@"; do
    name=${name##*/}; name=${name%.sh}
    if [ "$name" = "$script" ] || [ "$name" = "${script#*-}" ]; then return 0; fi
  done
  return 1
}

run_stage() {
  local script=$1 name log begin seconds result passed failed skipped
  name=${script##*/}; name=${name%.sh}
  log=build/ci/$name.log
  begin=$SECONDS
  if bash "$script" >"$log" 2>&1; then result=ok; else result=FAILED; fi
  seconds=$((SECONDS - begin))
  if ! read -r passed failed skipped < <(awk -f ci/count_tests.awk "$log"); then
    passed=1 failed=0 skipped=0
    [ "$result" = ok ] || passed=0 failed=1
  fi
  # A stage may fail beside its tests: after them, or before it could run any more of them.
  [ "$result" = ok ] || [ "$failed" -gt 0 ] || failed=1
  [ "$failed" -eq 0 ] || result=FAILED
  [ "$result" = ok ] || tail -n 150 "$log"
  printf '%-14s %-6s %4d s   %d passed, %d failed, %d skipped\n' "$name" "$result" "$seconds" "$passed" "$failed" "$skipped"
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  total_skipped=$((total_skipped + skipped))
}

require_packages "$packages" run test
mkdir -p build/ci
total_passed=0
total_failed=0
total_skipped=0
for script in ci/stages/*.sh; do
  if selected "$script" "$@"; then run_stage "$script"; fi
done
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
