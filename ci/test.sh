#!/usr/bin/env bash
# Builds and tests: the stages of ci/stages in their order, or those named.
# usage: ci/test.sh [--no-install] [--full] [--resume] [--shard I/N] [STAGE ...]
#          a STAGE is the name of its script, with or without number and .sh
#          --full       every test; otherwise the fast tier, which guards a change (ci/README.md)
#          --resume     leaves out the stages that passed for the same sources in the same tier
#          --record     a clean run of all stages adds their seconds to ci/stage_seconds.csv; --full does so, too
#          --shard I/N  the I-th of N parts of the stages, which together are all of them
#        ci/test.sh --changed [COMMIT]  the tests that the changes since COMMIT (HEAD) can affect, alone (ci/changed.sh)
#        ci/test.sh --approve      rewrites the golden files in place of testing (ci/approve.sh)
# Prints "N passed, N failed, N skipped" (tests, and one for a stage that runs no ctest), then what the fast tier left
# to the full one, then the seconds of each stage, beside those last recorded on as many cores.
set -u

root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/ci/*}
cd "$root" || exit 4
# shellcheck source=ci/setup.sh
. ci/setup.sh

if [ "${1:-}" = --approve ]; then require_packages install run test && exec bash ci/approve.sh; fi
if [ "${1:-}" = --changed ]; then require_packages install run test && exec bash ci/changed.sh "${@:2}"; fi
usage_error() { echo "ci/test.sh: $1; see the head of ci/test.sh" >&2; exit 3; }

packages=install
export PERFBENCH_TIER=fast # stages read it
resume=no
record=no
shard=1/1
while [ $# -gt 0 ] && [[ $1 == -* ]]; do
  case $1 in
    --no-install) packages=report ;;
    --full) PERFBENCH_TIER=full record=yes ;;
    --record) record=yes ;;
    --resume) resume=yes ;;
    --shard) shift; shard=${1:-} ;;
    *) usage_error "unknown option '$1'" ;;
  esac
  shift
done
[[ $shard =~ ^([1-9][0-9]?)/([1-9][0-9]?)$ ]] && [ "${BASH_REMATCH[1]}" -le "${BASH_REMATCH[2]}" ] ||
  usage_error "--shard takes I/N with 1 <= I <= N, found '$shard'"
shard_index=${BASH_REMATCH[1]}
shard_count=${BASH_REMATCH[2]}

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

# sources_digest: a hash of the commit and of the uncommitted changes.
sources_digest() {
  { git rev-parse HEAD; git diff HEAD; git ls-files -o --exclude-standard -z | xargs -0 -r sha256sum; } | sha256sum | cut -c1-64
}

# last_seconds STAGE: what ci/stage_seconds.csv has last of this tier and number of cores.
last_seconds() {
  awk -F, -v key="$PERFBENCH_TIER,$(nproc),$1" '$3 "," $4 "," $5 == key { last = $6 } END { print last }' ci/stage_seconds.csv
}

run_stage() {
  local script=$1 name log begin seconds result passed failed skipped
  name=${script##*/}; name=${name%.sh}
  log=build/ci/$name.log
  if [ "$resume" = yes ] && [ "$(cat "build/ci/$name.passed" 2>/dev/null)" = "$PERFBENCH_TIER $digest" ]; then
    printf '%-16s passed before, for the same sources\n' "$name"
    return
  fi
  rm -f "build/ci/$name.passed"
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
  printf '%-16s %-6s %4d s   %d passed, %d failed, %d skipped\n' "$name" "$result" "$seconds" "$passed" "$failed" "$skipped"
  [ "$result" != ok ] || echo "$PERFBENCH_TIER $digest" >"build/ci/$name.passed"
  table+=$(printf '%-16s %6d %8s' "$name" "$seconds" "$(last_seconds "$name")")$'\n'
  measured+="$name,$seconds"$'\n'
  left_out+=$(sed -n "s/^left to the full tier: /  $name: /p" "$log")$'\n'
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  total_skipped=$((total_skipped + skipped))
}

require_packages "$packages" run test
mkdir -p build/ci
total_passed=0
total_failed=0
total_skipped=0
table=
measured=
left_out=
digest=$(sources_digest)
# Other stages need what these make.
always="30-build"
number=0
for script in ci/stages/*.sh; do
  selected "$script" "$@" || continue
  number=$((number + 1))
  name=${script##*/}; name=${name%.sh}
  [ $(((number - 1) % shard_count + 1)) -eq "$shard_index" ] || [[ " $always " == *" $name "* ]] || continue
  run_stage "$script"
done
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
left_out=$(sed '/^$/d' <<<"$left_out")
[ -z "$left_out" ] || printf 'left to the full tier (ci/test.sh --full):\n%s\n' "$left_out"
printf '\n%-16s %6s %8s   (%s tier, %s cores, %s)\n%s' stage seconds recorded "$PERFBENCH_TIER" "$(nproc)" "$(git rev-parse --short HEAD)" "$table"
[ "$total_failed" -eq 0 ] && { [ "$total_passed" -gt 0 ] || [ "$resume" = yes ]; } || exit 1
if [ "$record $shard $#" = "yes 1/1 0" ] && [ -z "$(git status --porcelain)" ]; then
  if [ "$PERFBENCH_TIER" = full ]; then
    # The fast tier compares later sources with this commit.
    git log -1 --format='%H %cs' >ci/full_tier_passed
    echo "every test passed: ci/full_tier_passed names this commit now"
  fi
  sed '/^$/d' <<<"$measured" | sed "s/^/$(git log -1 --format='%cs,%h'),$PERFBENCH_TIER,$(nproc),/" >>ci/stage_seconds.csv
fi
