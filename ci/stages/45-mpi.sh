# The engine on several ranks: every mesh against one rank, every collective against its definition.
set -eu
left_out='^$'
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  left_out='_more$'
  echo "left to the full tier: most trainings on eight ranks and on emulated GPUs of several ranks"
fi
ctest --test-dir build/cpu --output-on-failure -L '^mpi$' -E "$left_out"
