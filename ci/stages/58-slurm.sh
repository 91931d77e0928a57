# Jobs of a real Slurm, where one can be started: with faults, and with the time limit of a job.
set -eu
if [ "${PERFBENCH_TIER:-fast}" = fast ]; then
  echo 'left to the full tier: jobs of a real Slurm'
  exit 0
fi
ci/slurm.py build/cpu/bin/perfbench --slow
