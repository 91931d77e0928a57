#!/usr/bin/env bash
# Rewrites every golden file as today's code gives it, and lists those that changed: ci/test.sh --approve. Whether a
# change is wanted is for a person to see, in `git diff`.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
folders="tests/reports/golden tests/harness/bad_matrices"
mkdir -p build/cpu
exec 9>build/lock
flock 9
cmake --preset ci-cpu >/dev/null
ninja -C build/cpu reports_test matrix_test
export PERFBENCH_APPROVE=1
build/cpu/tests/reports/reports_test --gtest_brief=1
build/cpu/tests/harness/matrix_test --gtest_brief=1 --gtest_filter='BadMatrices.*'
# shellcheck disable=SC2086
changed=$(git status --short -- $folders)
printf '%s\n' "${changed:-no golden file changed}"
