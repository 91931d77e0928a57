# Jobs of a real Slurm, where one can be started.
set -eu
ci/slurm.py build/cpu/bin/perfbench
