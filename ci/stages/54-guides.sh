# Every command of the guides is run as its reader would. (50-quickstart runs the one of README.)
set -eu
python3 ci/guides.py build/cpu/bin docs/guides/*.md
