# The engine on several ranks: every mesh against one rank, every collective against its definition.
set -eu
ctest --test-dir build/cpu --output-on-failure -L '^mpi$'
