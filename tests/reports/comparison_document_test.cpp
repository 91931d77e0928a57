// Comparisons and the ledger as documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/content/comparison_text.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;

std::vector<harness::CellComparison> example_comparisons() {
  harness::CellComparison slower;
  slower.label = "model=a";
  slower.metric = "step_time_s";
  slower.current = 0.55;
  slower.baseline = 0.5;
  slower.decision.verdict = harness::Verdict::regressed;
  slower.decision.ratio = 1.1;
  slower.decision.ratio_95 = {.low = 1.05, .high = 1.15};
  slower.decision.current_runs = 5;
  slower.decision.baseline_runs = 6;
  slower.decision.detail = "beyond the margin";
  slower.notes = {"another kernel"};
  auto unknown = slower;
  unknown.label = "model=b";
  unknown.current.reset();
  unknown.decision = {};
  unknown.decision.verdict = harness::Verdict::not_comparable;
  return {slower, unknown};
}

TEST(ComparisonDocument, HasARowForEachCellAndSaysWhyBelow) {
  const auto document = comparison_document(example_comparisons(), "v1");
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, testing::StartsWith("Comparison with v1\n\nREGRESSED: 1 of 2 cells, worst +10 % (95 %: +5 % to "
                                        "+15 %), step_time_s of model=a\n\nVerdict "));
  EXPECT_THAT(text, testing::ContainsRegex("REGRESSED +model=a +step_time_s +0.5500 s +0.5000 s +.10 % +.5 % to .15 % "
                                           "+5 vs 6 +.1. .2."));
  EXPECT_THAT(text, HasSubstr(": beyond the margin\n[2] another kernel\n"));
  EXPECT_THAT(text, testing::ContainsRegex("NOT_COMPARABLE +model=b +step_time_s +- "));
  EXPECT_THAT(render_text(document, {.colour = true}), HasSubstr("\x1b[31mREGRESSED\x1b[0m"));
  const auto csv = render_csv(document);
  EXPECT_THAT(csv,
              testing::StartsWith("verdict,cell,metric,current,baseline,ratio,ratio_low,ratio_high,current_runs,"));
  EXPECT_THAT(csv, HasSubstr("REGRESSED,model=a,step_time_s,0.55,0.5,1.1,1.05,1.15,5,6,"));
  const auto json = nlohmann::json::parse(render_json(document));
  EXPECT_EQ(json["overall"], "REGRESSED");
  EXPECT_EQ(json["cells"][0]["ratio_high"], 1.15);
  EXPECT_TRUE(json["cells"][1]["current"].is_null());
}

}  // namespace
}  // namespace perfbench::reports
