# The checks of .clang-tidy on the shipped sources and their headers. Tests are checked by the compiler's warnings only.
set -eu
only=()
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  ci/affected.py build/cpu --sources >build/ci/affected_sources
  only=(--only build/ci/affected_sources --seconds "${PERFBENCH_TIDY_SECONDS:-120}")
  echo "left to the full tier: sources that the change cannot affect"
fi
ci/tidy.py build/cpu ${only[@]+"${only[@]}"} engine harness reports workloads
