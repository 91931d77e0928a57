#!/usr/bin/env bash
# Everything that needs a GPU, in one go or in parts. Leaves its figures in a folder.
# usage: ci/gpu.sh [tests|bench|profile|all] [--folder DIR] [--seconds N] [--again] [--dry]
#   tests    builds; GPU tests by what they show (twins of the CPU's operations, remat policies, memory as the dry walk
#            says, training); compute-sanitizer where it is installed; the quickstart matrix on the GPU
#   bench    the matrix of model sizes with its MFU, the engine beside PyTorch and JAX, the cost of tracing and telemetry
#   profile  two traced steps of one cell: where the time went, for Perfetto, for Nsight Systems
#   --folder DIR   where logs, figures and what is done are kept; default build/gpu
#   --seconds N    ends after N seconds, so that a machine that ends commands ends none of these; default 0, no limit
#   --again        forgets what is done
#   --dry          prints the commands
# What is done is not done again: a call that was ended goes on where it was. DIR/summary.txt has a line for each step.
# Exit codes: 0 all is done and well, 1 something failed, 3 no GPU or wrong arguments, 75 time is up: call again.
# example: until ci/gpu.sh all --seconds 570; [ $? != 75 ]; do :; done
set -u
root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/ci/*}
cd "$root" || exit 4
export PYTHONDONTWRITEBYTECODE=1  # records say whether the tree has changes

part=all folder=build/gpu seconds=0 again="" dry=""
while [ $# -gt 0 ]; do
  case $1 in
    tests | bench | profile | all) part=$1 ;;
    --folder) folder=${2:?--folder needs a folder}; shift ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --again) again=yes ;;
    --dry) dry=yes ;;
    --help | -h) sed -n '2,/^set -u/{/^set -u/d; s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "ci/gpu.sh: what is '$1'? See ci/gpu.sh --help" >&2; exit 3 ;;
  esac
  shift
done

if [ -z "$dry" ]; then
  mkdir -p "$folder" || exit 4
  folder=$(readlink -f "$folder")
  done_list=$folder/done.txt
  summary=$folder/summary.txt
  [ -z "$again" ] || rm -f "$done_list" "$summary"
  touch "$done_list" "$summary"
  if ! nvidia-smi >"$folder/nvidia-smi.txt" 2>&1; then
    echo "skipped: no CUDA device"
    exit 3
  fi
fi

# left: seconds that a step may take; nothing is begun with less than 5.
left() { [ "$seconds" = 0 ] && echo 86400 || echo $((seconds - SECONDS)); }

say() { echo "$1" | tee -a "$summary"; }

# step NAME COMMAND...: runs it with its output in FOLDER/NAME.log, unless it is done. {left} in an argument is the time
# that is left. A step that fails is done as well, and keeps none of the next from running.
step() {
  local name=$1 begin=$SECONDS code=0; shift
  if [ -n "$dry" ]; then printf '%-12s %s\n' "$name" "$*"; return; fi
  if grep -q "^$name " "$done_list"; then return; fi
  if [ "$(left)" -lt 5 ]; then echo "time is up before $name; call again"; exit 75; fi
  timeout --signal=INT --kill-after=20 "$(left)" "${@//\{left\}/$(left)}" >"$folder/$name.log" 2>&1 || code=$?
  if [ "$seconds" != 0 ] && { [ "$code" = 124 ] || [ "$code" = 137 ] || [ "$code" = 75 ]; }; then
    echo "time is up within $name; call again"
    exit 75
  fi
  echo "$name $code" >>"$done_list"
  say "$(printf '%-12s code %d, %d s' "$name" "$code" $((SECONDS - begin)))"
  [ "$code" = 0 ] || tail -n 30 "$folder/$name.log"
}

# skip NAME WHY: once.
skip() {
  if [ -n "$dry" ]; then printf '%-12s skipped: %s\n' "$1" "$2"; return; fi
  grep -q "^$1 " "$done_list" && return
  echo "$1 0" >>"$done_list"
  say "$(printf '%-12s skipped: %s' "$1" "$2")"
}

bin=build/cuda/bin
tests=build/cuda/tests/engine

# Needed by all parts; what is built is not built again.
build() {
  step configure cmake --preset cuda -DPERFBENCH_CUDA_ARCHITECTURES=native \
    -DPERFBENCH_CUDNN_FRONTEND="$([ -n "$dry" ] || ci/cudnn_frontend.sh)"
  step build ninja -C build/cuda bin/perfbench bin/perfbench-engine engine_cuda_ops_tests engine_cuda_training_tests \
    engine_cupti_tests
  step facts "$bin/perfbench-engine" env
}

tests_part() {
  build
  step twins ci/gpu_tests.sh build/cuda '^cuda\.' '^cuda\.(Training|Families)'
  step remat ci/gpu_tests.sh build/cuda '^cuda\..*EveryPolicyGivesTheBitsOfNone' '^$'
  step dry-arena ci/gpu_tests.sh build/cuda '^cuda\..*DryMemoryIsTheRealLedger' '^$'
  step training ci/gpu_tests.sh build/cuda '^cuda\.(Training|Families)' 'EveryPolicy|DryMemory'
  if [ -n "$dry" ] || command -v compute-sanitizer >/dev/null; then
    step memcheck compute-sanitizer --tool memcheck --error-exitcode 1 $tests/engine_cuda_training_tests \
      '--gtest_filter=*Golden*'
    step racecheck compute-sanitizer --tool racecheck --error-exitcode 1 $tests/engine_cuda_training_tests \
      '--gtest_filter=*Golden*llama_tiny'
  else
    skip memcheck "no compute-sanitizer"
    skip racecheck "no compute-sanitizer"
  fi
  step quickstart "$bin/perfbench" sweep matrices/quickstart.yaml --device cuda --resume --db "$folder/quickstart.db"
}

bench_part() {
  build
  step sweep "$bin/perfbench" sweep matrices/gpu.yaml --db "$folder/gpu.db" --resume --timeout 300
  step report "$bin/perfbench" report --db "$folder/gpu.db" --format markdown
  step report-csv "$bin/perfbench" report --db "$folder/gpu.db" --format csv
  step peers python3 ci/bench/gpu_peers.py --build build/cuda --folder "$folder/peers" --seconds '{left}'
  step overhead python3 ci/bench/gpu_overhead.py --build build/cuda --folder "$folder/overhead"
}

# Two further steps of one cell, traced.
profile_part() {
  build
  step traced "$bin/perfbench" sweep matrices/gpu.yaml --db "$folder/trace.db" --resume --repeats 1 \
    --set trace_steps=2 --only model=axlearn-fuji-1B-v3 --only seq_len=2048 --only scan=false --only device_graphs=true
  local traced='RUN'
  if [ -z "$dry" ]; then
    traced=$(find "$folder/trace.runs" -name trace.rank0.jsonl -printf '%h\n' 2>/dev/null | sort | head -n 1)
    if [ -z "$traced" ]; then step profile sh -c 'echo "there is no trace: see traced.log"; exit 1'; return; fi
  fi
  step profile "$bin/perfbench" trace "$traced"
  step perfetto "$bin/perfbench" trace "$traced" --format chrome --output "$folder/trace.json"
  step nsight "$bin/perfbench" trace "$traced" --format sqlite --output "$folder/trace.sqlite"
}

case $part in
  all) tests_part; bench_part; profile_part ;;
  *) "${part}_part" ;;
esac
[ -z "$dry" ] || exit 0
! grep -qv ' 0$' "$done_list"
