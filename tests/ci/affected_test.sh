# ci/affected.py in a small repository made for this test: which test executables and sources a change can affect.
# usage: affected_test.sh REPOSITORY
set -eu
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work"

git init -q .
git config user.name nobody
git config user.email nobody@example.org
mkdir -p ci engine harness tests matrices
cp "$repository/ci/affected.py" ci/
printf 'build/\n' >.gitignore
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(small LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD ON)
include_directories(${PROJECT_SOURCE_DIR})
add_subdirectory(engine)
add_subdirectory(harness)
add_subdirectory(tests)
EOF
echo 'add_library(engine STATIC one.cpp two.cpp)' >engine/CMakeLists.txt
cat >harness/CMakeLists.txt <<'EOF'
add_custom_command(OUTPUT made.cpp COMMAND cp ${CMAKE_CURRENT_SOURCE_DIR}/style.txt made.cpp DEPENDS style.css)
add_library(harness STATIC plan.cpp ${CMAKE_CURRENT_BINARY_DIR}/made.cpp)
EOF
echo 'p { color: red }' >harness/style.css
echo 'int style() { return 0; }' >harness/style.txt
mkdir -p tests/engine
cat >tests/engine/CMakeLists.txt <<'EOF'
add_executable(engine_test engine_test.cpp)
target_link_libraries(engine_test engine)
EOF
cat >tests/CMakeLists.txt <<'EOF'
add_subdirectory(engine)
add_executable(plan_test plan_test.cpp)
target_link_libraries(plan_test harness)
EOF
echo 'int deep();' >engine/deep.h
echo '#include "engine/deep.h"' >engine/one.h
printf '#include "engine/one.h"\nint deep() { return 0; }\n' >engine/one.cpp
echo 'int two() { return 2; }' >engine/two.cpp
echo 'int plan() { return 0; }' >harness/plan.cpp
printf '#include "engine/one.h"\nint main() { return deep(); }\n' >tests/engine/engine_test.cpp
echo 'int main() { return 0; }' >tests/plan_test.cpp
echo 'name: small' >matrices/small.yaml
git add -A
git commit -qm 'all of it'
cmake -G Ninja -B build . >/dev/null

affected() { python3 ci/affected.py build "$@" 2>errors | sed "s|$work/||" | sort | xargs; }
expect() { # expect WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { echo "$1: expected '$2', found '$3'"; failures=$((failures + 1)); }
}
change() { echo "$2" >>"$1"; }
restore() { git reset -q --hard first; git clean -qfd; }
git tag first

expect 'nothing changed' '' "$(affected --since first)"
change engine/deep.h 'int deeper();'
expect 'a header that a source includes through another' 'engine_test' "$(affected --since first)"
git commit -qam 'a header'
expect 'a committed change' 'engine_test' "$(affected --since first)"
expect 'nothing since that commit' '' "$(affected --since HEAD)"
restore
change engine/two.cpp '//'
expect 'a source of a unity build' 'engine_test' "$(affected --since first)"
restore
change harness/plan.cpp '//'
expect 'a source of another library' 'plan_test' "$(affected --since first)"
[[ $(affected --since first --sources) == *harness* ]] || { echo "--sources lacks harness/plan.cpp"; failures=1; }
[[ $(affected --since first --sources) != *engine* ]] || { echo "--sources has what was not changed"; failures=1; }
restore
change harness/CMakeLists.txt '#'
expect 'the build file of a folder' 'plan_test' "$(affected --since first)"
restore
echo 'text' >notes.md
expect 'a document' '' "$(affected --since first)"
restore
change harness/style.css 'p {}'
expect 'a file that a library is built from' 'plan_test' "$(affected --since first)"
restore
mkdir -p tests/engine/golden tests/browser
echo x >tests/engine/golden/out.csv
expect 'data beside the tests of a folder' 'engine_test' "$(affected --since first)"
rm tests/engine/golden/out.csv
echo x >tests/browser/pages.py
expect 'a test without an executable' '' "$(affected --since first)"
rm tests/browser/pages.py
echo x >tests/shared.csv
expect 'data of all tests' 'engine_test plan_test' "$(affected --since first)"
restore
for file in CMakeLists.txt matrices/small.yaml; do
  change "$file" '#'
  expect "$file" 'engine_test plan_test' "$(affected --since first)"
  grep -q everything errors || { echo "$file: nothing says why all is affected"; failures=$((failures + 1)); }
  restore
done
expect 'a commit that is unknown here' 'engine_test plan_test' "$(affected --since 0123456789012345678901234567890123456789)"
expect 'no commit that passed' 'engine_test plan_test' "$(affected)"
git rev-parse first >ci/full_tier_passed
expect 'the commit that passed' '' "$(affected)"
expect 'all' 'engine_test plan_test' "$(affected --since all)"
exit $((failures > 0))
