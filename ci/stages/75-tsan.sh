# What runs in threads under ThreadSanitizer: the engine, and the planner that asks two engines at once. By clang, whose
# OpenMP run time tells the sanitizer (through Archer) what waits for what, which g++'s does not; without oneDNN, whose
# threads are g++'s.
set -eu
cmake --preset tsan
ninja -C build/tsan tests/engine/all plan_planner_test
export OMP_NUM_THREADS=2
export TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1"
ctest --test-dir build/tsan/tests/engine --output-on-failure -j "$(nproc)"
ctest --test-dir build/tsan/tests/harness --output-on-failure -R '^Plan\.'
