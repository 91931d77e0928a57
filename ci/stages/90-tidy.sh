# The checks of .clang-tidy on what is shipped and the headers it includes. Tests are held to the compiler's warnings.
set -eu
only=()
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  ci/affected.py build/cpu --sources >build/ci/affected_sources
  only=(--only build/ci/affected_sources --seconds "${PERFBENCH_TIDY_SECONDS:-120}")
  echo "left to the full tier: sources that the change cannot affect"
fi
ci/tidy.py build/cpu ${only[@]+"${only[@]}"} engine harness reports workloads
