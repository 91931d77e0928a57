# The image of containers/Containerfile, built and run. It compiles everything once more.
set -eu
if [ "${PERFBENCH_TIER:-fast}" = fast ]; then
  echo 'left to the full tier: the image of containers/Containerfile, built and run'
  exit 0
fi
ci/image.py build/cpu/bin/perfbench
