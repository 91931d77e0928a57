# All tests that need no MPI.
set -eu
ctest --test-dir build/cpu --output-on-failure -j "$(nproc)" -LE mpi
