# Who includes whom follows ci/include_rules.txt; no circles; no long files.
set -eu
python3 ci/check_includes.py
