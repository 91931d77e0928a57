# Jobs of Kubernetes by the real kubectl and a stand-in for the API server, with faults.
set -eu
if [ "${PERFBENCH_TIER:-fast}" = fast ]; then
  echo 'left to the full tier: jobs of Kubernetes'
  exit 0
fi
ci/kubernetes.py build/cpu/bin/perfbench
