# What cmake --install puts elsewhere runs from there, without the checkout.
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install build/cpu --prefix "$prefix"
cd "$prefix"
test -d share/perfbench/workloads/models   # else it would find those of the checkout
bin/perfbench --version
bin/perfbench plan share/perfbench/matrices/quickstart.yaml
bin/perfbench plan matrices/quickstart.yaml   # of its own data files
bin/perfbench sweep matrices/quickstart.yaml --only 'model=gpt-mini' --only attention=flash --only remat=none
bin/perfbench-engine env
