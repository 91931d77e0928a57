// The text about a comparison in pairs: every row is consistent.
#include "reports/content/ab_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using harness::CellVerdict;
using harness::MetricVerdict;
using testing::HasSubstr;
using testing::Not;

// The median of B is below A's, but most pairs found B slower.
harness::AbReport contradicting_medians() {
  MetricVerdict time{.rule = harness::metric_rule("step_time_s"), .a_median = 0.5, .b_median = 0.45, .pairs = 8};
  time.decided.decision.verdict = harness::Verdict::regressed;
  time.decided.decision.ratio = 1.2;
  time.decided.decision.ratio_95 = {1.1, 1.3};
  return {.comparison = {.matrix = "made-up"},
          .cells = {CellVerdict{.label = "c", .metrics = {time}, .pairs_used = 8}}};
}

TEST(AbReport, ShowsBAccordingToTheEstimate) {
  const auto text = render(ab_document(contradicting_medians()), DocumentFormat::markdown);
  EXPECT_THAT(text, testing::ContainsRegex("REGRESSED +\\| 0.5000 s +\\| 0.6000 s +\\| \\+20 %"));
  EXPECT_THAT(text, Not(HasSubstr("0.45")));
}

TEST(AbReport, GivesProgramsTheMediansThemselves) {
  const auto text = ab_document(contradicting_medians()).json();
  EXPECT_THAT(text, HasSubstr("\"a_median\": 0.5"));
  EXPECT_THAT(text, HasSubstr("\"b_median\": 0.45"));
}

}  // namespace
}  // namespace perfbench::reports
