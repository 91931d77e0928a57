# Pages from disk and of a server, in headless Chromium; pictures of them stay in build/ci/pictures and build/ci/screens.
set -eu
# The system's own, for which ci/packages.txt has the driver.
/usr/bin/python3 tests/browser build/cpu/bin/perfbench build/ci/pictures
if [ "${PERFBENCH_TIER:-full}" = full ]; then
  ci/screens.py build/ci/screens
else
  echo "left to the full tier: the layout of every page in four widths and two themes"
fi
