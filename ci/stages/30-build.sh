# The Release tree that ./perfbench uses too, with all tests and benchmarks; then every header for GPUs compiles alone.
set -euo pipefail
mkdir -p build/cpu
exec 9>build/lock
flock 9
cmake --preset ci-cpu
ninja -C build/cpu 2>&1 | tee build/ci/build_output
# ccache repeats the warnings of what was compiled when they were no errors.
if grep -A5 'warning:' build/ci/build_output >&2; then exit 1; fi
ci/check_unity_names.py build/cpu
ninja -C build/cpu header_check_gpu
