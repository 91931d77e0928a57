#include "harness/matrix/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfbench::harness {
namespace {

Constraint::Result evaluate(const std::string& text) {
  return Constraint::parse(text).evaluate([](const std::string& key) { return key == "tp" ? 4.0 : 6.0; });
}

TEST(Constraint, MultipliesBeforeItAdds) {
  EXPECT_EQ(evaluate("2 + 3 * tp == 0").left, 14);
  EXPECT_EQ(evaluate("(2 + 3) * tp == 0").left, 20);
  EXPECT_EQ(evaluate("20 - 8 - 2 == 0").left, 10);
  EXPECT_EQ(evaluate("fsdp % tp == 0").left, 2);
  EXPECT_EQ(evaluate("fsdp / tp == 0").left, 1.5);
}

TEST(Constraint, TakesSizesWithUnits) {
  EXPECT_EQ(evaluate("4GB == 0").left, 4e9);
  EXPECT_EQ(evaluate("2*1.5KiB + 1 == 0").left, 3073);
}

TEST(Constraint, KnowsSixComparisons) {
  EXPECT_TRUE(evaluate("tp<5").holds && evaluate("tp <= 4").holds && evaluate("tp > 3").holds);
  EXPECT_TRUE(evaluate("tp >= 4").holds && evaluate("tp == 4").holds && evaluate("tp != 5").holds);
  EXPECT_FALSE(evaluate("tp < 4").holds || evaluate("tp <= 3").holds || evaluate("tp > 4").holds);
  EXPECT_FALSE(evaluate("tp >= 5").holds || evaluate("tp == 5").holds || evaluate("tp != 4").holds);
}

TEST(Constraint, SaysWhereItStoppedUnderstanding) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      Constraint::parse(text);
    } catch (const ConstraintError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error("tp 8"), testing::HasSubstr("found '8' where one of < <= > >= == != is needed"));
  EXPECT_THAT(error("tp <="), testing::HasSubstr("found the end where a number or a key is needed"));
  EXPECT_THAT(error("tp <= 3parsecs"), testing::HasSubstr("found '3parsecs' where a number, or a size such as 512MiB"));
  EXPECT_THAT(error("(tp <= 3"), testing::HasSubstr("found '<= 3' where ')' is needed"));
  EXPECT_THAT(error("1 < tp < 8"), testing::HasSubstr("found '< 8' where an end is needed"));
  EXPECT_THAT(error(std::string(100000, '(')), testing::HasSubstr("at most 200 characters"));
}

TEST(Constraint, DivisionByZeroIsAnError) {
  EXPECT_THROW(evaluate("1 / (tp - 4) > 0"), ConstraintError);
  EXPECT_THROW(evaluate("1 % 0 > 0"), ConstraintError);
}

}  // namespace
}  // namespace perfbench::harness
