# ci/test.sh on stages made for this test: tiers, shards, repeated runs, the table, and the commit that passed.
# usage: test_script_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

git init -q .
git config user.name nobody
git config user.email nobody@example.org
mkdir -p ci/stages
mkdir ci/nightly
cp "$repository/ci/test.sh" "$repository/ci/count_tests.awk" ci/
cp "$repository/ci/nightly/tests.sh" ci/nightly/
echo 'require_packages() { :; }' >ci/setup.sh
echo 'build/' >.gitignore
echo 'date,commit,tier,cores,stage,seconds' >ci/stage_seconds.csv
echo 'true' >ci/stages/10-first.sh
echo 'true' >ci/stages/30-build.sh
echo 'echo "left to the full tier: what $PERFBENCH_TIER leaves out"' >ci/stages/50-slow.sh
echo 'true' >ci/stages/70-last.sh
git add -A
git commit -qm 'all of it'

run() { output=$(bash ci/test.sh "$@" 2>&1); code=$?; }
expect() { # expect CODE PATTERN WHAT
  [ "$code" = "$1" ] && grep -qE -- "$2" <<<"$output" && return
  printf '%s: expected exit code %s and "%s", found %s and\n%s\n' "$3" "$1" "$2" "$code" "$output"
  failures=$((failures + 1))
}

run
expect 0 '^4 passed, 0 failed, 0 skipped$' 'all stages'
expect 0 '^  50-slow: what fast leaves out$' 'what the fast tier leaves out'
expect 0 '^stage +seconds +recorded +\(fast tier' 'a table of the seconds'
expect 0 '^30-build +[0-9]+ *$' 'a row of it'
[ ! -e ci/full_tier_passed ] || { echo 'the fast tier passed for the full one'; failures=$((failures + 1)); }
run --resume
expect 0 '^0 passed, 0 failed' 'nothing is run again for the same sources'
run --resume --full
expect 0 '^4 passed, 0 failed' 'the full tier is another'
[ "$(cut -d' ' -f1 ci/full_tier_passed)" = "$(git rev-parse HEAD)" ] ||
  { echo 'ci/full_tier_passed does not name the commit that passed'; failures=$((failures + 1)); }
[ "$(grep -cE "^[0-9-]{10},$(git rev-parse --short HEAD),full,[0-9]+,(10-first|30-build|50-slow|70-last),[0-9]+\$" ci/stage_seconds.csv)" = 4 ] ||
  { echo 'ci/stage_seconds.csv lacks the stages of a full run:'; cat ci/stage_seconds.csv; failures=$((failures + 1)); }
git add -A && git commit -qm 'passed'
sed -i 's/30-build,[0-9]*$/30-build,4711/' ci/stage_seconds.csv
git commit -qam 'as if it had taken longer'
run --full
expect 0 '^30-build +[0-9]+ +4711$' 'what was recorded before'
run --record
[ "$(grep -c ',fast,' ci/stage_seconds.csv)" = 0 ] || { echo 'a run over changed files was recorded'; failures=$((failures + 1)); }
git commit -qam 'recorded'
run --record
[ "$(grep -c ',fast,' ci/stage_seconds.csv)" = 4 ] || { echo 'a fast run was not recorded'; failures=$((failures + 1)); }
git commit -qam 'recorded again'
run --shard 1/2
expect 0 '^3 passed, 0 failed' 'the first half, with the build that it needs'
run --shard 2/2
expect 0 '^2 passed, 0 failed' 'the other half'
stages=$( (bash ci/test.sh --shard 1/2; bash ci/test.sh --shard 2/2) 2>&1 | awk '/ ok /{print $1}' | sort -u | xargs)
[ "$stages" = '10-first 30-build 50-slow 70-last' ] || { echo "shards together run '$stages'"; failures=$((failures + 1)); }
run --shard 3/2
expect 3 '1 <= I <= N' 'a shard that there is not'
run --fulll
expect 3 "unknown option '--fulll'" 'an unknown option'
output=$(ci/nightly/tests.sh 2>&1); code=$?
expect 0 'full tier' 'the tests of a night'
echo 'false' >ci/stages/50-slow.sh
run --full
expect 1 '^50-slow +FAILED' 'a stage that fails'
run --resume --full
expect 1 '^0 passed, 1 failed' 'only what failed is run again'
echo 'true' >ci/stages/50-slow.sh
run --resume --full
expect 0 '^4 passed' 'other sources'
exit $((failures > 0))
