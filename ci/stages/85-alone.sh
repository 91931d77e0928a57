# Each source by itself, as preset dev compiles it: in batches, a source can use what only its neighbours include.
set -eu
since=()
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  since=(--since "$(cut -d' ' -f1 ci/full_tier_passed)")
  echo "left to the full tier: sources that did not change"
fi
ci/sources_alone.py build/cpu engine harness reports workloads ${since[@]+"${since[@]}"}
