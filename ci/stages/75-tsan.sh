# What runs in threads under ThreadSanitizer: the engine, and the planner that asks two engines at once. By clang, whose
# OpenMP run time tells the sanitizer (through Archer) what waits for what, which g++'s does not; without oneDNN, whose
# threads are g++'s. Not linked by gold: there an exception ends as "ThreadSanitizer: nested bug".
set -euo pipefail
# Left out: what runs on one thread, or does for very many shapes and meshes what other tests do for a few.
left_out='^(EveryRunOnEveryMesh|MemoryProperty|CpuWorkspace|CheckpointsOfMeshes|RowsApart|Storage/Determinism)\.'
left_out+='|DryMemoryIsTheRealLedger|ProductsOfOddSizes|OfDocumentsInARow'
cmake --preset tsan
since=()
if [ "${PERFBENCH_TIER:-full}" = full ]; then
  since=(--since all)
else
  echo "left to the full tier: tests under ThreadSanitizer that the change cannot affect"
fi
affected=$(ci/affected.py build/tsan ${since[@]+"${since[@]}"})
mapfile -t targets < <(awk '/^(engine_.*|parallel_test|plan_planner_test|serve_kept_answers_test)$/' <<<"$affected")
[ ${#targets[@]} -gt 0 ] || exit 0
ninja -C build/tsan "${targets[@]}"
export OMP_NUM_THREADS=2
export TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1"
selected=(-L "^($(IFS='|'; echo "${targets[*]}"))\$" -E "$left_out|_NOT_BUILT\$")
# All tests of what is affected may be among those left out.
[[ $(ctest --test-dir build/tsan -N "${selected[@]}") == *"Test "*"#"* ]] || exit 0
ctest --test-dir build/tsan --output-on-failure -j "$(nproc)" "${selected[@]}"
