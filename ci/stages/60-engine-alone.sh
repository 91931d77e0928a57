# A bare cluster node: compiler, CMake and the JSON header only. The engine still builds and trains.
set -eu
cmake --preset engine -DPERFBENCH_MPI=OFF -DPERFBENCH_BLAS=OWN -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
ninja -C build/engine
build/engine/bin/perfbench-engine env
