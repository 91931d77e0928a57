# shellcheck shell=bash
# ci/gpu_kit.sh: a kit made of a tree of fakes, its script without a GPU, with one and with all that can go wrong there,
# and the report of what it brings home. The harness is the real one, and the engine where it plans.
# usage: gpu_kit_test.sh REPOSITORY BUILD
set -u
repository=$1
build=$2
recorded=$repository/tests/ci/recorded_kit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
mkdir -p "$work"/tree/bin "$work"/tree/tests/engine "$work"/fakes "$work"/behaviour
ln -s "$build/bin/perfbench" "$work/tree/bin/perfbench"

# Every fake writes its name and arguments to calls.txt and does what a file of its name in behaviour/ says.
cat >"$work/fake" <<'FAKE'
#!/bin/bash
name=$(basename "$0")
[ "${1:-}" = --gtest_list_tests ] || echo "$name $*" >>"WORK/calls.txt"
[ ! -e "WORK/behaviour/$name" ] || . "WORK/behaviour/$name"
FAKE
sed -i "s|WORK|$work|g" "$work/fake"
chmod +x "$work/fake"
for tool in nvidia-smi ncu compute-sanitizer python3; do cp "$work/fake" "$work/fakes/$tool"; done
cp "$work/fake" "$work/tree/bin/perfbench-engine"
cp "$work/fake" "$work/tree/bin/perfbench-micro-device"
for tool in engine_cuda_ops_tests engine_cuda_training_tests; do cp "$work/fake" "$work/tree/tests/engine/$tool"; done

# The engine plans, reports the cost of operations, has a GPU unless it is hidden, and trains like the recorded one.
cat >"$work/engine" <<'ENGINE'
case $1 in
  env)
    [ ! -e WORK/no-gpu ] || { echo '{"gpu_problem":"no driver"}'; exit; }
    [ "${CUDA_VISIBLE_DEVICES-all}" ] && exec cat RECORDED/part1/cells/*/env.json
    exec BUILD/bin/perfbench-engine env ;;
  dry)
    [ "$2" != --operations ] || exec cat RECORDED/part2/cells/01-*/operations.json
    shift; exec BUILD/bin/perfbench-engine dry "$@" ;;
  check) exit 0 ;;
  overhead) exec cat RECORDED/part3/overhead.log ;;
  run)
    [ "$(grep -c . "$3/planned.json")" = 1 ] || exit 9
    steps=$(sed 's/.*"steps":\([0-9]*\).*/\1/' "$3/run.json")
    cp RECORDED/part1/cells/*/env.json "$3/"
    ! grep -q '"trace_steps"' "$3/run.json" || cp RECORDED/part2/cells/01-*/trace.rank0.jsonl "$3/"
    for ((i = 0; i < steps; i++)); do
      sed -n "1s/\"step\":0/\"step\":$i/p" RECORDED/part1/cells/*/steps.rank0.jsonl
    done >"$3/steps.rank0.jsonl"
    case $3 in
      *case-kept*) sed -i 's/"wall_ns":[0-9]*/"wall_ns":133600000/' "$3/steps.rank0.jsonl" ;;
      *case-d64-g4-t2048-own*) sed -i 's/"loss":[0-9.]*/"loss":7.7/' "$3/steps.rank0.jsonl" ;;
      *case-*) sed -i 's/"wall_ns":[0-9]*/"wall_ns":136400000/' "$3/steps.rank0.jsonl" ;;
    esac
    [[ $3 != */part?/cells/02-* ]] || { echo "perfbench-engine: an illegal address"; exit 4; }
    sed "s/\"steps\":[0-9]*/\"steps\":$steps/" RECORDED/part1/cells/*/result.json >"$3/result.json" ;;
esac
ENGINE
sed "s|WORK|$work|g; s|RECORDED|$recorded|g; s|BUILD|$build|g" "$work/engine" >"$work/behaviour/perfbench-engine"

run() {
  : >"$work/calls.txt"
  output=$(PATH="$work/fakes:$PATH" bash "$work/kit/run.sh" "$@" 2>&1)
  code=$?
}
kit() {
  : >"$work/calls.txt"
  output=$(bash "$repository/ci/gpu_kit.sh" "$@" 2>&1)
  code=$?
}
report() { kit report "$@" --db "$work/kit.db" --perfbench "$build/bin/perfbench"; }
fail() {
  printf 'FAILED %s: %.3000s\n' "$1" "$2"
  failures=$((failures + 1))
}
# expect NAME CODE TEXT...: checks the last run.
expect() {
  local name=$1 wanted=$2 text; shift 2
  [ "$code" = "$wanted" ] || fail "$name" "code $code, expected $wanted: $output"
  for text in "$@"; do [[ $output == *"$text"* ]] || fail "$name" "no '$text' in: $output"; done
}
# called NAME TIMES PATTERN: counts lines of calls.txt.
called() {
  local times
  times=$(grep -c -- "$3" "$work/calls.txt")
  [ "$times" = "$2" ] || fail "$1" "'$3' was called $times times, expected $2: $(cat "$work/calls.txt")"
}
has() { compgen -G "$work/$2" >/dev/null || fail "$1" "there is no $2"; }

kit build "$work/kit" --from "$work/tree"
expect 'a kit is made of a tree' 0 "$work/kit"
has 'a kit is made of a tree' 'kit/bin/engine_cuda_training_tests'
has 'each cell comes with its run' 'kit/cells/part2/09-*/run.json'
has 'each cell comes with its estimates' 'kit/cells/part4/06-*/operations.json'
has 'the goldens come along' 'kit/source/tests/golden/llama-tiny.json'
has 'the peers come along' 'kit/source/ci/bench/peer_steps_torch.py'
called 'a machine with a GPU makes a kit without using it' 0 '^perfbench-engine run'
[ -z "$(find "$work/kit" -type l)" ] || fail 'a kit has no links' "$(find "$work/kit" -type l)"
kit build "$work/kit" --from "$work/tree"
expect 'a folder with something in it is left alone' 3 'is not empty'
kit build "$work/none" --from "$work"
expect 'a tree without an engine' 3 'has no bin/perfbench-engine'
kit build
expect 'a kit has a place' 3 'needs a folder'
kit bluid "$work/none"
expect 'a verb that is none' 3 "what is 'bluid'"

touch "$work/no-gpu"
run all --dry
expect 'a dry call needs no GPU and shows every part' 0 'part 1, at most 300 s' \
  'bin/engine_cuda_training_tests --gtest_color=no' 'part 2, at most 480 s' '08-global-batch-8' 'ncu --csv' \
  '--gtest_filter=*Golden' 'part 4, at most 480 s' 'torch.06-model-seqax-540m.2'
called 'a dry call runs nothing' 0 .
[ ! -e "$work/kit/results" ] || fail 'a dry call writes nothing' "$(ls "$work/kit/results")"
run 1
expect 'without a GPU nothing is done' 3 'no CUDA device: no driver'
called 'without a GPU nothing is done' 1 .
rm "$work/no-gpu"
mv "$work/behaviour/perfbench-engine" "$work/engine"
echo 'echo "libcudnn.so.9: cannot open shared object file" >&2; exit 127' >"$work/behaviour/perfbench-engine"
run 1
expect 'an engine that does not start' 4 'libcudnn.so.9: cannot open' 'run.sh rebuild'
mv "$work/engine" "$work/behaviour/perfbench-engine"
run 5
expect 'a part that is none' 3 "what is '5'"
run --dry
expect 'no part' 3 'which part?'

# A first test binary that breaks in its second test, and other failures there: the rest runs nevertheless.
cat >"$work/behaviour/engine_cuda_ops_tests" <<'TESTS'
case $* in
  --gtest_list_tests) printf 'Norms.\n  Forward\n  Backward/bf16  # GetParam() = 2\n  Apply\n'; exit ;;
  *gtest_filter=Norms.Apply) printf '[ RUN      ] Norms.Apply\n[       OK ] Norms.Apply (1 ms)\n'; exit ;;
  *gtest_filter*)
    printf '[ RUN      ] Norms.Backward/bf16\noff by 1\n[  FAILED  ] Norms.Backward/bf16 (1 ms)\n'
    exit 1 ;;
esac
echo '[==========] Running 3 tests from 1 test suite.'
printf '[ RUN      ] Norms.Forward\n[       OK ] Norms.Forward (1 ms)\n'
printf '[ RUN      ] Norms.Backward/bf16\noff by 1\n'
kill -SEGV $$
TESTS
echo '[ -d "$PERFBENCH_GOLDEN_DIR" ] || exit 1; echo "[       OK ] Families.Golden (1 ms)"' \
  >"$work/behaviour/engine_cuda_training_tests"
cat >"$work/behaviour/python3" <<PEER
case \$* in *peer_steps_torch.py*) tail -n 1 "$recorded/part4/torch.01-model-llama-mini.1.log" ;; esac
PEER
run all --results "$work/results" --archive "$work/results.tgz"
expect 'a failure keeps nothing from running' 1 'engine_cuda_ops_tests' 'code 139' '06-model-seqax-540m.2'
called 'each test binary runs once' 1 '^engine_cuda_training_tests'
called 'what failed or was not reached runs by itself' 3 '^engine_cuda_ops_tests'
called 'what failed or was not reached runs by itself' 1 'gtest_filter=Norms.Apply'
called 'what passed is not run again' 0 'gtest_filter=Norms.Forward'
called 'every cell runs, those of the peers twice' 24 '^perfbench-engine run'
called 'the peers run twice' 12 '^python3 .*peer_steps_torch'
called 'kernels are profiled and checked' 1 '^ncu'
called 'kernels are profiled and checked' 1 '^compute-sanitizer'
order=$(sed -n '/part4/{s/^python3.*/p/p; s/^perfbench-engine.*/e/p}' "$work/calls.txt" | tr -d '\n')
[ "$order" = epepepepepeppepepepepepe ] || fail 'engine and peer alternate, and each is first once' "$order"
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xzif "$work/results.tgz"
for part in 1 2 3 4; do
  diff -r --exclude=scratch "$work/results/part$part" "$work/unpacked/part$part" ||
    fail 'the archive is the results' "it differs"
done

report "$work/results"
expect 'what was brought home' 1 'part 1 engine_cuda_ops_tests: 139' \
  '1 passed, 0 failed, 0 skipped, 1 not ended, 1 not reached' 'engine_cuda_training_tests: 1 passed' \
  'Norms.Backward/bf16 not ended; by itself: failed. off by 1' '## gpu-kit-4' \
  'crashed: exit code 4 after 20 of 20 steps: perfbench-engine: an illegal address'
report "$work/results.tgz"
expect 'an archive is as good' 1 'part 1 engine_cuda_ops_tests: 139'
[[ $output == *' 0 attempts added'* && ! $output =~ [1-9][0-9]*\ attempts\ added ]] ||
  fail 'what is there already is left alone' "$output"

run 2 --results "$work/short" --seconds 15
expect 'what has no time left is not begun' 1 "not_begun: the part's time is up"
called 'what has no time left is not begun' 0 '^perfbench-engine run'
[ "$(grep -c not_begun "$work/short/part2/steps.tsv")" = 9 ] || fail 'what is not begun is recorded' "$output"
report "$work/short"
expect 'a part that did not begin' 1 "part 2 08-global-batch-8-loss-chunk-tokens-4096-deterministic-false.1: not_begun"

# Made by hand: 50 % of an H100's 989 TFLOP/s; 6 ms of products that need 3 ms; PyTorch takes twice the time.
report "$recorded"
expect 'the recorded kit' 1 '| 50.0 %' '| matmul | 6.000 | 87 | 3.000 | 2.000 | FLOP |' \
  '| adamw | 1.000 | 1 | 0.500 | 2.000 | bytes |' 'signal 11 (Segmentation fault) after 3 of 6 steps' \
  '| 2.000 (2.000 to 2.000, 2 rounds) |' '1 passed, 2 failed, 1 skipped, 1 not ended' \
  'Norms.Apply failed; by itself: passed' 'adamw_kernel(perfbench::AdamwPlan) | 411.2 us' \
  "part 4 02-model-llama2-7b.2: not_begun: the part's time is up" '| device | 1.0020 |'
cp -r "$recorded" "$work/bare"
rm "$work"/bare/part*/cells/*/operations.json
report "$work/bare"
expect 'a kit without estimates' 1 'without estimates' '| matmul | 6.000 |'
report "$work/fakes"
expect 'a folder without results' 3 'has no part*/steps.tsv'
report
expect 'no folder' 3 'ci/gpu_kit.sh report'

# A session of two commands, the second of which continues where the first ended. The fakes above make up its figures: a
# step of 136.4 ms, with kept weights of 133.6, and one loss that differs between kernels.
rm "$work"/behaviour/engine_cuda_*
session() {
  : >"$work/calls.txt"
  output=$(PATH="$work/fakes:$PATH" OUT="$work/out" bash "$work/kit/session.sh" "$@" 2>&1)
  code=$?
}
ceilings() {
  cat >"$work/behaviour/perfbench-micro-device" <<MICRO
echo 'name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message,"B/s","FLOP/s"'
echo '"copy/iterations:10/manual_time",10,90,90,us,,,,,,$1,'
echo '"bf16_product/n:8192/iterations:10/manual_time",10,90,90,us,,,,,,4e12,7.8e+14'
MICRO
}
session --dry
expect 'a dry session shows both commands' 0 'first command, at most 430 s' '06-case-fp8-fast-forward.2' \
  '32-case-d128-g4-t16384-cudnn.1' 'kept on h100: before 137.0, expected 133.6 ms, decides A3' 'second command, at most 240 s' \
  'memcheck' '02-case-any-order.1'
called 'a dry session runs nothing' 0 .
ceilings 2.5e12
session
expect 'a card below its ceilings ends the session' 2 '1: STOP: copy 2.5 TB/s, expected 2.9' 'stopped'
called 'a card below its ceilings ends the session' 0 '^perfbench-engine run'
rm -r "$work/out"
ceilings 2.88e12
session
expect 'the first command' 0 '1: reached: copy 2.88 TB/s' '4: keep A2: cast 136.4 ms, expected 136.4; before 139.8, -2.4 %' \
  '4: keep A3: kept 133.6 ms, expected 133.6; cast 136.4, -2.1 %' \
  '3: DIFFERENT: look at it before anything else: d64-g4-t2048' '3: alike: d64-g1-t2048 0 apart' \
  '5: measure fp8_accumulation: fast again'
called 'cells alternate in two rounds' 56 '^perfbench-engine run'
called 'only tests of what changed run' 1 '^engine_cuda_ops_tests .*gtest_filter=AttentionInParts'
[ "$(ls "$work/out" | tr '\n' ' ')" = 'decided.txt figures.tsv session.tgz state.tsv ' ] ||
  fail 'four files come back' "$(ls "$work/out")"
session
expect 'the next visit goes on where the last ended' 0 'second command' '8: same-bits 136.4 ms, expected 624.0; before 624.0, -78.1 %'
[[ $output != *'first command'* ]] || fail 'the next visit goes on where the last ended' "$output"
session
expect 'nothing is left' 0 'every part is done for this engine'
session --dry
expect 'a dry session says what is done' 0 'part 4 is done: 4	done	h100'
session second --again
expect 'parts are done again where they are asked for' 0 '8: same-bits'
session third
expect 'a command that is none' 3 "what is 'third'"
mkdir "$work/copy"  # the report changes the state of its own tree
cp -r "$repository/ci" "$work/copy/"
ln -s "$repository/workloads" "$work/copy/workloads"
output=$(bash "$work/copy/ci/gpu_kit.sh" report "$work/out/session.tgz" --state "$work/out/state.tsv" --db "$work/session.db" \
  --perfbench "$build/bin/perfbench" 2>&1)
code=$?
expect 'a session at home' 0 '## Session on h100' '| 4 | kept | ms | 137.0 | 133.6 | 133.6 | - | keep A3 |' \
  '| 4 | bf16-moments | ms | - | 134.0 | 136.4 | - |  |' '- keep A2 (cast 136.4 ms)' \
  '- DIFFERENT: look at it before anything else (d64-g4-t2048' 'lines for ci/gpu_kit/state.tsv' '## gpu-session-5'
grep -q $'^8\tdone\th100\t' "$work/copy/ci/gpu_kit/state.tsv" || fail 'the tree has the state' "$(cat "$work/copy/ci/gpu_kit/state.tsv")"

[ "$failures" -eq 0 ] || exit 1
