# With CUDA where the toolkit is: programs and CUDA's own tests compile and link, for one architecture, with kernels that
# are compiled fast, as none of them runs where there is no GPU; what is the same without CUDA comes from ccache. Tests
# that need a GPU skip without one; what CUPTI delivers is tested by hand-made records. (The kernels themselves run in
# 40-unit, emulated; there is all else that is tested, too.)
set -eu
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
if [ ! -x "$nvcc" ]; then
  echo "skipped: no CUDA toolkit"
  exit 0
fi
# nvcc 12.9 and later know it.
fast=--Ofast-compile=max
"$nvcc" $fast --dryrun -x cu /dev/null -o /dev/null >/dev/null 2>&1 || fast=
cmake --preset ci-cuda -DPERFBENCH_CUDA_ARCHITECTURES=90a -DCMAKE_CUDA_FLAGS=$fast -DPERFBENCH_CUDNN_FRONTEND="$(ci/cudnn_frontend.sh)"
ninja -C build/cuda perfbench perfbench-engine perfbench-micro-device tests_cuda
ctest --test-dir build/cuda --output-on-failure -j "$(nproc)" -R '^cuda\.'

# Asked for by hand, a GPU that is not there is an error of the input; the engine starts without a driver.
build/cuda/bin/perfbench-engine env >build/cuda/env.json
if grep -q '"gpus":' build/cuda/env.json; then exit 0; fi
build/cuda/bin/perfbench-micro-device >build/cuda/micro.txt
grep -q '^skipped: no CUDA device' build/cuda/micro.txt
code=0
build/cuda/bin/perfbench sweep matrices/quickstart.yaml --device cuda --db build/cuda/none.db 2>build/cuda/none.err || code=$?
[ "$code" = 3 ] || { echo "sweep --device cuda without a GPU: exit code $code, expected 3" >&2; exit 1; }
grep -q 'no GPU can be used here' build/cuda/none.err || { cat build/cuda/none.err >&2; exit 1; }
