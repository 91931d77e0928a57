# shellcheck shell=bash
# ci/gpu.sh in a tree of fakes: what it does once, what it does again, and what it says when time is up.
# usage: gpu_script_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
mkdir -p "$work"/tree/ci "$work"/tree/build/cuda/bin "$work"/fakes
cp "$repository/ci/gpu.sh" "$repository/ci/gpu_tests.sh" "$work/tree/ci/"
printf '#!/bin/sh\n' >"$work/tree/ci/cudnn_frontend.sh"

# Every fake writes its name and arguments to calls.txt and does what a file of its name in behaviour/ says.
mkdir "$work/behaviour"
cat >"$work/fake" <<'FAKE'
#!/bin/sh
name=$(basename "$0")
echo "$name $*" >>"WORK/calls.txt"
[ ! -e "WORK/behaviour/$name" ] || . "WORK/behaviour/$name"
FAKE
sed -i "s|WORK|$work|g" "$work/fake"
chmod +x "$work/fake" "$work/tree/ci/cudnn_frontend.sh"
for tool in nvidia-smi cmake ninja ctest python3 compute-sanitizer; do cp "$work/fake" "$work/fakes/$tool"; done
for tool in perfbench perfbench-engine; do cp "$work/fake" "$work/tree/build/cuda/bin/$tool"; done

run() {
  : >"$work/calls.txt"
  output=$(PATH="$work/fakes:$PATH" bash "$work/tree/ci/gpu.sh" "$@" 2>&1)
  code=$?
}
# expect NAME CODE TEXT: of the last run.
expect() {
  if [ "$code" != "$2" ] || [[ $output != *"$3"* ]]; then
    printf 'FAILED %s: expected code %s and "%s", got code %s and:\n%s\n' "$1" "$2" "$3" "$code" "$output"
    failures=$((failures + 1))
  fi
}
# called NAME TIMES PATTERN: lines of calls.txt.
called() {
  local times
  times=$(grep -c -- "$3" "$work/calls.txt")
  if [ "$times" != "$2" ]; then
    printf 'FAILED %s: "%s" was called %s times, expected %s:\n%s\n' "$1" "$3" "$times" "$2" "$(cat "$work/calls.txt")"
    failures=$((failures + 1))
  fi
}

echo 'exit 9' >"$work/behaviour/nvidia-smi"
run all
expect 'without a GPU nothing is done' 3 'skipped: no CUDA device'
called 'without a GPU nothing is done' 0 '^ninja'
run all --dry
expect 'a dry call needs no GPU and shows every part' 0 'racecheck'
[[ $output == *gpu_peers.py*gpu_overhead.py*trace.sqlite* ]] || { echo "FAILED dry: $output"; failures=$((failures + 1)); }
called 'a dry call runs nothing' 0 .
rm "$work/behaviour/nvidia-smi"

run tests
expect 'the tests' 0 'training     code 0'
called 'the remat policies are a step of their own' 1 '^ctest.*EveryPolicy.*-E \^\$'
called 'both checkers run' 2 '^compute-sanitizer'
run tests
expect 'what is done is not done again' 0 ''
called 'what is done is not done again' 0 '^ctest\|^ninja\|^perfbench'
run tests --again
called 'unless asked for' 4 '^ctest'

# A test that skips itself fails on a GPU.
echo 'echo "1/1 Test #1: cuda.Adamw.Equals ....***Skipped  0.1 sec"' >"$work/behaviour/ctest"
run tests --again
expect 'tests that skip themselves' 1 'tests were skipped'
called 'a failed step keeps no other from running' 1 'sweep matrices/quickstart.yaml'
rm "$work/behaviour/ctest"

# The benchmark of peers says that its time is up: it is called again, what was done before it is not.
echo 'case "$*" in *gpu_peers*) exit 75 ;; esac' >"$work/behaviour/python3"
run bench --seconds 1000 --again
expect 'time is up' 75 'time is up within peers'
called 'what comes behind it waits' 0 'gpu_overhead'
rm "$work/behaviour/python3"
run bench --seconds 1000
expect 'the next call goes on' 0 'overhead     code 0'
called 'the next call goes on' 1 'gpu_peers.*--seconds [0-9]'
called 'the next call goes on' 0 'sweep'
run bench --seconds 1 --again
expect 'nothing is begun without time to end it' 75 'time is up before configure'

run profile --again
expect 'a trace that is missing is said to be' 1 'there is no trace'

[ "$failures" -eq 0 ] || exit 1
