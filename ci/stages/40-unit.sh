# All tests that need no MPI.
set -eu
# Tests run beside each other, so each computes on one thread; those about threads set their own number. Counted first:
# nproc takes OMP_NUM_THREADS for the number of cores.
jobs=$(nproc)
export OMP_NUM_THREADS=1
# What the schedule does above the operations is the same on the emulated device as on the CPU, and takes minutes there.
ctest --test-dir build/cpu --output-on-failure -j "$jobs" -LE mpi -E '^emulated\.(LoraMerge|Evaluation|MaskedTraining)\.'
