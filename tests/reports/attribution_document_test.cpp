// The wording of a difference: signs, shares, the row of the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/content/trace_document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

harness::Attribution example() {
  return {.a_s = 0.010,
          .b_s = 0.012,
          .shares = {{.name = "backward matmul", .a_s = 0.004, .b_s = 0.0055},
                     {.name = "idle: host", .a_s = 0.001, .b_s = 0.002},
                     {.name = "forward add", .a_s = 0.001, .b_s = 0.0005},
                     {.name = "forward matmul", .a_s = 0.004, .b_s = 0.004}},
          .a_steps = 4,
          .b_steps = 5};
}

TEST(AttributionDocument, TheLargestSharesAreNamedWithTheirSigns) {
  EXPECT_THAT(largest_differences(example(), 2),
              ElementsAre("+1.500 ms backward matmul, of +2.000 ms between the traced steps",
                          "+1.000 ms idle: host, of +2.000 ms between the traced steps"));
  EXPECT_THAT(largest_differences(example(), 9), testing::SizeIs(3));
  EXPECT_THAT(largest_differences(example(), 3)[2], HasSubstr("-0.5000 ms forward add, of +2.000 ms"));
  EXPECT_THAT(largest_differences({}, 3), IsEmpty());
}

TEST(AttributionDocument, BeginsWithTheDifferenceAndItsLargestPart) {
  const auto begin = [](const harness::Attribution& of) {
    const auto text = render_markdown(attribution_document(of, 2));
    return text.substr(0, text.find('\n'));
  };
  EXPECT_THAT(begin(example()), HasSubstr("A traced step of B takes 2 ms longer than A's 10 ms; the largest change "
                                          "is +1.50 ms in backward matmul"));
  auto shorter = example();
  std::swap(shorter.a_s, shorter.b_s);
  for (auto& share : shorter.shares) std::swap(share.a_s, share.b_s);
  EXPECT_THAT(begin(shorter), HasSubstr("takes 2 ms less than A's 12 ms; the largest change is -1.50 ms in"));
  EXPECT_THAT(begin({}), HasSubstr("take equally long"));
}

TEST(AttributionDocument, ProgramsGetEveryShareAndNoSum) {
  const auto csv = render_csv(attribution_document(example(), 1));
  EXPECT_THAT(csv,
              testing::StartsWith("name,a_s,b_s,difference_s,of_difference_fraction\r\nbackward matmul,0.004,0.0055,"));
  EXPECT_THAT(csv, HasSubstr("forward matmul,0.004,0.004,0,0\r\n"));
  EXPECT_THAT(csv, testing::Not(HasSubstr("the step")));
}

TEST(AttributionDocument, TheTableEndsWithTheRestAndTheWholeStep) {
  const auto table = render_markdown(attribution_document(example(), 2));
  EXPECT_THAT(table,
              ContainsRegex("\\| backward matmul +\\| 4.000 +\\| 5.500 +\\| \\+1.500 +\\| 75 % +\\|\n\\| idle: host"));
  EXPECT_THAT(table, ContainsRegex("\\| 2 others +\\| 5.000 +\\| 4.500 +\\| -0.5000 +\\| -25 % +\\|\n"
                                   "\\| the step +\\| 10.00 +\\| 12.00 +\\| \\+2.000"));
  EXPECT_EQ(table.find("of the traced difference"), table.rfind("of the traced difference"));  // one table for people
  EXPECT_THAT(table, HasSubstr("4 of A and 5 of B"));
  EXPECT_THAT(table, testing::Not(HasSubstr("no room")));
  auto cut = example();
  cut.dropped_records = 3;
  EXPECT_THAT(render_markdown(attribution_document(cut, 4)), HasSubstr("3 trace records were dropped"));
  EXPECT_THAT(render_markdown(attribution_document(cut, 4)), testing::Not(HasSubstr("others")));
}

}  // namespace
}  // namespace perfbench::reports
