# Every command of the guides is run as its reader would, and the README's first.
set -eu
python3 ci/guides.py build/cpu/bin harness/guides/*.md README.md
