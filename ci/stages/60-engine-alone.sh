# A bare cluster node: compiler, CMake and the headers of JSON and xxHash only. The engine still builds and trains.
set -eu
cmake --preset ci-engine -DPERFBENCH_MPI=OFF -DPERFBENCH_ONEDNN_LIBRARY=OFF -DPERFBENCH_OPENBLAS_LIBRARY=OFF -DPERFBENCH_BLOSC_LIBRARY=OFF
ninja -C build/engine
build/engine/bin/perfbench-engine env
