# As a user's machine has it: what ci/packages.txt does not bring (CUDA, cuDNN, NCCL, ...) cannot be found. There every
# source and every header is compiled by itself, where the other trees take several at once; then what takes seconds is
# run: tests without training or measuring, a plan, and a cell.
set -eu
tree=build/alone
as_user() { ci/user_view.py "$@"; }
options=()
code=0
as_user true || code=$?
if [ "$code" = 77 ]; then
  echo "going on without the view, and without a toolkit"
  as_user() { "$@"; }
  options=(-DPERFBENCH_CUDA_INCLUDE=OFF)
elif [ "$code" != 0 ]; then
  exit "$code"
fi

rm -f "$tree/CMakeCache.txt" # what somebody's ninja found outside of the view
as_user cmake --preset cpu -B "$tree" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  ${options[@]+"${options[@]}"}
if grep -E '^(PERFBENCH_CUDA_INCLUDE|PERFBENCH_NVCC).*=/' "$tree/CMakeCache.txt"; then
  echo "a CUDA toolkit was found where none should be"
  exit 1
fi
as_user ninja -C "$tree" all header_check
as_user env OMP_NUM_THREADS=1 ctest --test-dir "$tree" --output-on-failure -j "$(nproc)" -LE mpi \
  -E 'Simulat|Mutation|Training|Golden|Remat|Faults|Nightly|AbCommand|Bisect|Fuzz|^ci\.'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
as_user "$tree/bin/perfbench" plan matrices/quickstart.yaml
as_user "$tree/bin/perfbench" sweep matrices/quickstart.yaml --db "$folder/one.db" --only model=gpt-mini \
  --only attention=flash --only remat=none
