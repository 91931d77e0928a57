# Pages from disk and of a server, in headless Chromium; pictures of them stay in build/ci/pictures.
set -eu
# The system's own, for which ci/packages.txt has the driver.
/usr/bin/python3 tests/browser build/cpu/bin/perfbench build/ci/pictures
