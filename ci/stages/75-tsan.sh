# Runs the code with threads under ThreadSanitizer: the engine, and the planner that asks two engines at once. It is built by
# clang, whose OpenMP run time reports its waits to the sanitizer (through Archer); g++'s does not. oneDNN is left out, because
# its threads are g++'s. gold does not link it: with gold an exception ends as "ThreadSanitizer: nested bug".
set -euo pipefail
# Left out: what runs on one thread, or does for very many shapes and meshes what other tests do for a few.
left_out='^(EveryRunOnEveryMesh|MemoryProperty|CpuWorkspace|CheckpointsOfMeshes|RowsApart|Storage/Determinism)\.'
left_out+='|DryMemoryIsTheRealLedger|ProductsOfOddSizes|OfDocumentsInARow|^MatrixStatements\.'
tree=build/tsan
in_threads='^(engine_.*|parallel_test|plan_test|serve_kept_answers_test|serve_push_test)$'
cmake --preset tsan
export TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1"
since=(--since all)
[ "${PERFBENCH_TIER:-full}" != fast ] || since=()
affected=$(ci/affected.py "$tree" "${since[@]}")
mapfile -t targets < <(grep -E "$in_threads" <<<"$affected")
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  . ci/sanitized_tests.sh
  echo "left to the full tier: tests under ThreadSanitizer that the change cannot affect or that repeat a training"
  as_user() { "$@"; }
  sanitized_tests "$tree" "${PERFBENCH_TSAN_SECONDS:-90}" "$left_out|$repeated_trainings" ${targets[@]+"${targets[@]}"}
else
  ninja -C "$tree" "${targets[@]}"
  OMP_NUM_THREADS=2 ctest --test-dir "$tree" --output-on-failure -j "$(nproc)" -L "$in_threads" -E "$left_out|_NOT_BUILT\$"
fi
