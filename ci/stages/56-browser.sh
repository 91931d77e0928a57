# Pages from disk and of a server, in headless Chromium; pictures of them stay in build/ci/pictures.
set -eu
# The system's own, for which ci/packages.txt has the driver.
for test in pages serve hostile; do
  /usr/bin/python3 "tests/browser/${test}_test.py" build/cpu/bin/perfbench build/ci/pictures
done
