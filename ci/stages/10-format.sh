# Every source has the one format of .clang-format, every script passes bash's own syntax check.
set -eu
mapfile -d '' -t sources < <(find engine harness reports tests workloads \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0)
clang-format-14 --dry-run --Werror "${sources[@]}"
for script in perfbench .ci/run ci/*.sh ci/gpu_kit/*.sh ci/stages/*.sh; do bash -n "$script"; done
