# The Release tree that ./perfbench uses too, with all tests and benchmarks; then every header for GPUs compiles alone.
set -eu
mkdir -p build/cpu
exec 9>build/lock
flock 9
cmake --preset ci-cpu
ninja -C build/cpu
ninja -C build/cpu header_check_gpu
