#!/usr/bin/env bash
# Measures the engine of this folder on this machine's GPU. Needs bash, a driver and the CUDA libraries; no network, no
# compiler.
# usage: run.sh PART|all|rebuild [--dry] [--results DIR] [--archive FILE] [--seconds N]
#   1   5 min  versions, the tests, one short run
#   2   8 min  one model by determinism, loss chunk, batch and joined products, with traces
#   3   8 min  kernels: each operation by itself, traces of a step, ncu and memcheck where installed, what tracing costs
#   4   8 min  six sizes beside PyTorch where it is installed, alternating, two rounds
#   all        each of them in turn
#   rebuild    where the libraries of this machine are not those the engine was built for: builds it here, with cmake,
#              ninja and nvcc, for the parts to use
#   --dry           prints what it would do; needs no GPU
#   --results DIR   where results are written, as they are made; default results/ beside this script
#   --archive FILE  every result is also appended to FILE as soon as it is made: a sequence of .tar.gz, for
#                   `tar -xzif FILE`, whole up to the last step when the machine ends the command
#   --seconds N     each part ends within N seconds, where that is less than its own time
# A step that fails keeps no other from running; what a part has no time left for is not begun, and said to be. A part
# that is run again replaces its results. At home: ci/gpu_kit.sh report RESULTS
# Exit codes: 0 all is done and well, 1 something failed or was not begun, 3 no CUDA device or wrong arguments, 4 the
# engine does not start here.
set -u
kit=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$kit/bin
unset CDPATH

parts="" dry="" results=$kit/results archive="" most_of_a_part=86400
while [ $# -gt 0 ]; do
  case $1 in
    [1-4] | rebuild) parts="$parts $1" ;;
    all) parts="1 2 3 4" ;;
    --dry) dry=yes ;;
    --results) results=${2:?--results needs a folder}; shift ;;
    --archive) archive=${2:?--archive needs a file}; shift ;;
    --seconds) most_of_a_part=${2:?--seconds needs a number}; shift ;;
    --help | -h) sed -n '2,/^set -u/{/^set -u/d; s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: what is '$1'? See run.sh --help" >&2; exit 3 ;;
  esac
  shift
done
[ -n "$parts" ] || { echo "run.sh: which part? See run.sh --help" >&2; exit 3; }

# shellcheck source=ci/gpu_kit/steps.sh
. "$kit/steps.sh"

# Prints the names of a test binary's tests that its log shows neither as passed nor as skipped.
open_tests() {
  awk 'FNR == NR { if ($0 ~ /^\[ +(OK|SKIPPED) +\]/) { sub(/^[^]]*\] */, ""); sub(/[, ].*/, ""); good[$0] } next }
       /^[^ ]/ { suite = $1; next } !((suite $1) in good) { print suite $1 }' \
    "$2" <("${ours[@]}" "$1" --gtest_list_tests)
}

# Runs each test again by itself that failed, or that was not reached because the process ended before it. An error of a GPU
# stays with its process, so one broken kernel fails every later test.
again() {
  local test name number=0
  if [ -n "$dry" ]; then
    printf '  %-50s what fails, each test by itself, as far as the time goes\n' "again.$1"
    return
  fi
  [ -s "$folder/$1.log" ] || return
  for test in $(open_tests "$bin/$1" "$folder/$1.log" | head -n 20); do
    number=$((number + 1))
    printf -v name 'again.%s.%02d' "$1" "$number"
    step "$name" 5 60 "${ours[@]}" "$bin/$1" "--gtest_filter=$test"
  done
}

test_binaries=(engine_cuda_ops_tests engine_cuda_training_tests)

part_1() {
  local binary for_cell=50 most=140
  part 1 300
  if command -v nvidia-smi >/dev/null || [ -n "$dry" ]; then step versions 5 10 nvidia-smi -q
  else skip versions "no nvidia-smi"; fi
  [ -n "$dry" ] || { cp "$results/env.json" "$results/kit.txt" "$folder/"; keep env.json kit.txt; }
  for binary in "${test_binaries[@]}"; do
    if [ -x "$bin/$binary" ]; then step "$binary" 20 "$most" "${ours[@]}" "$bin/$binary" --gtest_color=no
    else skip "$binary" "not in this kit"; fi
    most=$((part_end - SECONDS - for_cell))  # the training tests may take what the others left
  done
  for cell in "$kit"/cells/part1/*; do cell "$cell" 1 $for_cell; done
  for binary in "${test_binaries[@]}"; do [ ! -x "$bin/$binary" ] || again "$binary"; done
}

part_2() {
  part 2 480
  for cell in "$kit"/cells/part2/*; do cell "$cell" 1 90; done
}

part_3() {
  local ncu memcheck short
  part 3 480
  ncu=$(tool ncu) memcheck=$(tool compute-sanitizer)
  if [ -n "$dry" ] || [ -x "$bin/perfbench-micro-device" ]; then
    step micro 10 60 "${ours[@]}" "$bin/perfbench-micro-device" --benchmark_format=json
  else
    skip micro "perfbench-micro-device is not in this kit"
  fi
  for cell in "$kit"/cells/part3/*; do
    case $cell in *for-ncu*) short=$cell ;; *) cell "$cell" 1 90 ;; esac
  done
  if [ -n "$ncu$dry" ]; then
    [ -n "$dry" ] || cp -r "$short" "$folder/scratch/ncu"
    # One launch of each, of every shape.
    step ncu 30 120 "${ours[@]}" "${ncu:-ncu}" --csv --clock-control none --section SpeedOfLight --section Occupancy \
      --filter-mode per-launch-config --launch-count 1 --kernel-name \
      'regex:^(adamw|cross_entropy|dkey_dvalue|dquery|delta|forward|backward|rope|convert|sum)_kernel' \
      "$bin/perfbench-engine" run --dir "$folder/scratch/ncu"
  else
    skip ncu "ncu is not installed"
  fi
  if [ -n "$dry" ] || { [ -n "$memcheck" ] && [ -x "$bin/engine_cuda_training_tests" ]; }; then
    step memcheck 30 120 "${ours[@]}" "${memcheck:-compute-sanitizer}" --tool memcheck --error-exitcode 1 \
      "$bin/engine_cuda_training_tests" '--gtest_filter=*Golden.LossAndGradientNorm*/llama_tiny'
  else
    skip memcheck "compute-sanitizer is not installed, or no tests are in this kit"
  fi
  [ -n "$dry" ] || cp -r "$short" "$folder/scratch/overhead"
  step overhead 30 90 "${ours[@]}" "$bin/perfbench-engine" overhead --dir "$folder/scratch/overhead" --rounds 60
}

# peer FOLDER ROUND
peer() {
  step "torch.${1##*/}.$2" 30 120 python3 -B "$kit/source/ci/bench/peer_steps_torch.py" --run "$1/run.json" --steps 20
}

part_4() {
  local torch=yes
  part 4 480
  local log=$folder/scratch/torch.log
  if [ -z "$dry" ] && ! python3 -c 'import torch; assert torch.cuda.is_available()' >"$log" 2>&1; then
    torch=""
    skip torch "no PyTorch that sees the GPU: $(tail -n 1 "$log")"
  fi
  for cell in "$kit"/cells/part4/*; do cell "$cell" 1 60; [ -z "$torch" ] || peer "$cell" 1; done
  for cell in "$kit"/cells/part4/*; do [ -z "$torch" ] || peer "$cell" 2; cell "$cell" 2 60; done
}

# The engine alone, from source/ with the headers that come along; it takes the place of bin/perfbench-engine.
rebuild() {
  local tree=$kit/rebuilt
  if [ -n "$dry" ]; then echo "rebuild: cmake and ninja in rebuilt/ from source/ and headers/"; return; fi
  # shellcheck disable=SC2046
  cmake -S "$kit/source" -B "$tree" -G Ninja $(cat "$kit/options.txt") -DPERFBENCH_CUDA_ARCHITECTURES=native \
    -DPERFBENCH_HARNESS=OFF -DPERFBENCH_TESTS=OFF -DCMAKE_PREFIX_PATH="$kit/headers" \
    -DPERFBENCH_CUDNN_FRONTEND="$kit/headers/include" &&
    ninja -C "$tree" bin/perfbench-engine && cp "$tree/bin/perfbench-engine" "$bin/" || failed=$((failed + 1))
}

for number in $parts; do
  find_libraries
  if [ "$number" = rebuild ]; then rebuild; continue; fi
  require_device
  "part_$number"
done
[ "$failed" = 0 ]
