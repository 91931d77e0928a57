# The unit tests under ThreadSanitizer, by clang: its OpenMP run time tells the sanitizer (through Archer) what waits for
# what, which g++'s does not. oneDNN is left out, because its threads are g++'s.
set -eu
cmake --preset tsan
ninja -C build/tsan
export OMP_NUM_THREADS=2
export TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1"
ctest --test-dir build/tsan --output-on-failure -j "$(nproc)" -LE mpi
