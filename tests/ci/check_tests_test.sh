# ci/check_tests.py on tests made for this test: which of them cannot fail.
# usage: check_tests_test.sh REPOSITORY
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/helper.h" <<'EOF'
inline void expect_one(int value) {
  EXPECT_EQ(value, 1);
}
inline void through_another(int value) { expect_one(value); }
EOF
cat >"$work/one_test.cpp" <<'EOF'
template <class T>
void check(const T& value,
           int times = 1) {
  for (int i = 0; i < times; ++i) ASSERT_TRUE(value);
}
void says_nothing(int value) {
  use(value);
}
TEST(One, Asserts) {
  EXPECT_TRUE(f());
}
TEST(One, CallsItsOwnHelper) {
  check<int>(f());
}
TEST_F(One, CallsOneOfAHeaderThroughAnother) {
  through_another(1);
}
TEST(One, HasALambda) {
  const auto same = [](int a) {
    EXPECT_EQ(a, 2);
  };
  same(2);
}
TEST_P(One, RunsAlone) {
  says_nothing(1);
}
EOF
found=$(python3 "$1/ci/check_tests.py" "$work"); code=$?
expected="$work/one_test.cpp:24: One.RunsAlone asserts nothing, so it cannot fail
5 tests, 1 that cannot fail"
[ "$code" = 1 ] && [ "$found" = "$expected" ] && exit 0
printf 'exit code %s, found\n%s\nexpected\n%s\n' "$code" "$found" "$expected"
exit 1
