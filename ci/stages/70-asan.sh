# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer. Tests that start mpirun are left out: Open MPI
# leaks on purpose when it ends; and statistics by simulation, which repeat arithmetic that other tests run once.
set -eu
cmake --preset asan
ninja -C build/asan
export OMP_NUM_THREADS=2
ctest --test-dir build/asan --output-on-failure -j "$(nproc)" -LE mpi -E 'Simulation\.'
