# As a user's machine has it: what ci/packages.txt does not bring (CUDA, cuDNN, NCCL, ...) cannot be found. There every
# header is compiled by itself, and the tests run under AddressSanitizer and UndefinedBehaviorSanitizer.
set -eu
# Left out: tests that start mpirun (Open MPI leaks on purpose when it ends); scripts; statistics by simulation
# (arithmetic that other tests run once); and what takes minutes here because it starts very many processes, or does
# for very many inputs what other tests do for a few.
left_out='Simulation\.|^ci\.|^(SessionRates|PairRates|SimulatedNights|MatrixFuzz|MemoryProperty|EveryRunOnEveryMesh|Options'
left_out+='|NightlyCommand|Storage/Determinism|CheckpointsOfMeshes|CpuWorkspace|CommandLine|Completion|AbCommand)\.|KillsOfTheHarness'
left_out+='|DryMemoryIsTheRealLedgerByteForByte|ProductsOfOddSizes'
tree=build/asan
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

rm -f "$tree/CMakeCache.txt" # what somebody's cmake found outside of the view
# Code for fuzzers takes twice as long to compile, and the fast tier does not fuzz.
[ "${PERFBENCH_TIER:-full}" = full ] || options+=(-DPERFBENCH_FUZZ=OFF)
as_user cmake --preset asan ${options[@]+"${options[@]}"}
if grep -E '^(PERFBENCH_CUDA_INCLUDE|PERFBENCH_NVCC).*=/' "$tree/CMakeCache.txt"; then
  echo "a CUDA toolkit was found where none should be"
  exit 1
fi
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  . ci/sanitized_tests.sh
  echo "left to the full tier: that headers compile alone, fuzzing, sanitized tests that the change cannot affect or that repeat a training"
  affected=$(ci/affected.py "$tree")
  mapfile -t targets < <(awk NF <<<"$affected")
  sanitized_tests "$tree" "${PERFBENCH_ASAN_SECONDS:-210}" "$left_out|$repeated_trainings" ${targets[@]+"${targets[@]}"}
else
  as_user ninja -C "$tree" all header_check
  as_user env OMP_NUM_THREADS=2 ctest --test-dir "$tree" --output-on-failure -j "$(nproc)" -LE '^mpi$' -E "$left_out"
  # The readers of what people write, for a bounded time.
  as_user ci/fuzz.sh 12
  as_user "$tree/bin/perfbench" plan matrices/quickstart.yaml
fi
