# What runs in threads under ThreadSanitizer: the engine, and the planner that asks two engines at once. By clang, whose
# OpenMP run time tells the sanitizer (through Archer) what waits for what, which g++'s does not; without oneDNN, whose
# threads are g++'s. Not linked by gold: there an exception ends as "ThreadSanitizer: nested bug".
set -eu
# Left out: what runs on one thread, or does for very many shapes and meshes what other tests do for a few.
left_out='^(EveryRunOnEveryMesh|MemoryProperty|CpuWorkspace|CheckpointsOfMeshes|RowsApart|Storage/Determinism)\.'
left_out+='|DryMemoryIsTheRealLedger|ProductsOfOddSizes|OfDocumentsInARow'
cmake --preset tsan
ninja -C build/tsan tests/engine/all plan_planner_test serve_kept_answers_test
export OMP_NUM_THREADS=2
export TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1"
ctest --test-dir build/tsan/tests/engine --output-on-failure -j "$(nproc)" -E "$left_out"
ctest --test-dir build/tsan/tests/harness --output-on-failure -R '^(Plan|KeptAnswersTest)\.'
