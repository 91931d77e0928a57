# Training programs in real containers, where podman can run one.
set -eu
ci/containers.py build/cpu/bin/perfbench
