# How ci/test.sh counts tests in logs that ctest itself writes here.
# usage: count_tests_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() { # expect WHAT WANTED FOUND
  [ "$2" = "$3" ] && return
  echo "$1: wanted '$2', found '$3'"
  failures=$((failures + 1))
}

# run NAME=CODE ...: runs ctest over tests that end with these codes; 77 means skipped.
run() {
  local test
  rm -f "$work/CTestTestfile.cmake"
  for test in "$@"; do
    echo "add_test(${test%=*} sh -c \"exit ${test#*=}\")" >>"$work/CTestTestfile.cmake"
    echo "set_tests_properties(${test%=*} PROPERTIES SKIP_RETURN_CODE 77)" >>"$work/CTestTestfile.cmake"
  done
  ctest --test-dir "$work" --output-on-failure 2>&1
}

count() { awk -f "$repository/ci/count_tests.awk"; }

expect 'passed, failed and skipped' '2 1 3' "$(run a=0 b=77 c=1 d=77 e=0 f=77 | count)"
expect 'all passed' '2 0 0' "$(run a=0 b=0 | count)"
expect 'all skipped' '0 0 1' "$(run a=77 | count)"
expect 'one passed' '1 0 0' "$(run a=0 | count)"
expect 'two runs in one log' '3 1 1' "$({ run a=0 b=77 c=0; run a=0 b=1; } | count)"
: >"$work/empty"
expect 'no run' '' "$(count <"$work/empty")"
expect 'nothing selected' '0 1 0' "$(echo 'No tests were found!!!' | count)"
[ "$failures" -eq 0 ]
