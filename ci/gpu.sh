#!/usr/bin/env bash
# Everything that needs a GPU, in one go: build, tests, benchmark, one profile. Leaves its figures in a folder.
# usage: ci/gpu.sh [FOLDER]        default build/gpu; each step's log and exit code stand in FOLDER/summary.txt
# Ends with code 0 when every step did; a step that fails does not keep the next from running.
set -u
root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/ci/*}
cd "$root" || exit 4
folder=${1:-build/gpu}
mkdir -p "$folder" || exit 4
folder=$(readlink -f "$folder")
summary=$folder/summary.txt
: >"$summary"
failed=0

# step NAME COMMAND...: runs it with its output in FOLDER/NAME.log.
step() {
  local name=$1 begin=$SECONDS code=0; shift
  "$@" >"$folder/$name.log" 2>&1 || code=$?
  printf '%-12s code %d, %d s\n' "$name" "$code" $((SECONDS - begin)) | tee -a "$summary"
  [ "$code" = 0 ] || { failed=1; tail -n 30 "$folder/$name.log"; }
}

if ! nvidia-smi >"$folder/nvidia-smi.txt" 2>&1; then
  echo "skipped: no CUDA device" | tee -a "$summary"
  exit 3
fi
bin=build/cuda/bin
step configure cmake --preset cuda -DPERFBENCH_CUDA_ARCHITECTURES=native -DPERFBENCH_CUDNN_FRONTEND="$(ci/cudnn_frontend.sh)"
step build ninja -C build/cuda perfbench perfbench-engine engine_cuda_ops_tests engine_cuda_training_tests engine_cupti_tests
step facts "$bin/perfbench-engine" env
step tests ctest --test-dir build/cuda --output-on-failure -R '^cuda\.'
# The small models under the memory and race checkers, where the toolkit has them.
if command -v compute-sanitizer >/dev/null; then
  step memcheck compute-sanitizer --tool memcheck --error-exitcode 1 build/cuda/tests/engine/engine_cuda_training_tests \
    '--gtest_filter=*Golden*'
  step racecheck compute-sanitizer --tool racecheck --error-exitcode 1 build/cuda/tests/engine/engine_cuda_training_tests \
    '--gtest_filter=*Golden*llama_tiny'
else
  echo "skipped: compute-sanitizer is not installed" | tee -a "$summary"
fi
step quickstart "$bin/perfbench" sweep matrices/quickstart.yaml --device cuda --db "$folder/quickstart.db"
step sweep "$bin/perfbench" sweep matrices/gpu.yaml --db "$folder/gpu.db" --timeout 300
step report "$bin/perfbench" report --db "$folder/gpu.db" --format markdown
# One profile: two further steps of one cell, traced.
step traced "$bin/perfbench" sweep matrices/gpu.yaml --db "$folder/trace.db" --repeats 1 --set trace_steps=2 \
  --only model=axlearn-fuji-1B-v3 --only seq_len=2048
traced=$(find "$folder/trace.runs" -name 'trace.rank0.jsonl' -printf '%h\n' 2>/dev/null | head -n 1)
if [ -n "$traced" ]; then
  step profile "$bin/perfbench" trace "$traced"
  step perfetto "$bin/perfbench" trace "$traced" --format chrome --output "$folder/trace.json"
fi
exit "$failed"
