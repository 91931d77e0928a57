# ci/check_unity_names.py on a unity build made for it: functions with one name in two sources of one unit.
# usage: check_unity_names_test.sh REPOSITORY
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p one.dir/Unity other.dir/Unity
cat >a.cpp <<'EOF'
namespace x {
namespace {

int value_of(const char* key) {
  return inner(key);
}
template <class T>
T inner(T key) {
  return key;
}

}  // namespace

int shared(int a) {
  return value_of("a") + a;
}
}  // namespace x
EOF
cat >b.cpp <<'EOF'
namespace x {
namespace {

int value_of(std::string key) {
  const int inner(1);
  return shared(inner);
}

}  // namespace

int shared(std::string a) {
  return value_of(a);
}
}  // namespace x
EOF
printf '#include "a.cpp"\n#include "b.cpp"\n' >one.dir/Unity/unity_0_cxx.cxx
printf '#include "b.cpp"\n' >other.dir/Unity/unity_0_cxx.cxx
# The unit of a removed target is still in the tree, but in no command.
mkdir -p old.dir/Unity
printf '#include "gone.cpp"\n' >old.dir/Unity/unity_0_cxx.cxx
printf '[{"file": "one.dir/Unity/unity_0_cxx.cxx"}, {"file": "other.dir/Unity/unity_0_cxx.cxx"}, {"file": "a.cpp"}]' \
  >compile_commands.json
found=$(python3 "$1/ci/check_unity_names.py" .); code=$?
expected="value_of() is in unnamed namespaces of several sources of one.dir; rename one:
  a.cpp:4
  b.cpp:4"
printf '[{"file": "other.dir/Unity/unity_0_cxx.cxx"}]' >compile_commands.json
python3 "$1/ci/check_unity_names.py" . || code=without
[ "$code" = 1 ] && [ "$found" = "$expected" ] && exit 0
printf 'exit code %s, found\n%s\nexpected\n%s\n' "$code" "$found" "$expected"
exit 1
