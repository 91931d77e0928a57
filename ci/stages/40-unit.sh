# All tests that need no MPI.
set -eu
# Tests run beside each other, so each computes on one thread; those about threads set their own number.
export OMP_NUM_THREADS=1
ctest --test-dir build/cpu --output-on-failure -j "$(nproc)" -LE mpi
