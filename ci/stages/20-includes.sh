# Includes follow ci/include_rules.txt; no circles; no long files; no test without an assertion; plain English.
set -eu
python3 ci/check_includes.py
python3 ci/check_tests.py
python3 ci/check_words.py
