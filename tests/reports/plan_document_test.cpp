// A plan for people, from counts written by hand.
#include "reports/plan_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "reports/document/render.h"

namespace perfbench::reports {
namespace {

using harness::PlannedCell;
using harness::PlanState;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMiB = 1 << 20;

// 1,760 MiB alive at the peak, in an arena of twice that.
PlannedCell planned(const std::string& label, PlanState state = PlanState::feasible, const std::string& reason = "") {
  spec::DryCounts counts;
  counts.parameters = 44'000;
  counts.arena_bytes = 3520 * kMiB;
  counts.peak.total_bytes = 1760 * kMiB;
  counts.peak.weights_bytes = 44 * kMiB;
  counts.flops.feed_forward_flops = 1'234'000'000;
  counts.traffic = {
      {.axis = "fsdp", .collective = "all_gather", .messages = 3, .payload_bytes = 900, .sent_bytes = 500},
      {.axis = "fsdp", .collective = "reduce_scatter", .sent_bytes = 12}};
  counts.largest = {{.name = "layers.*.mlpwi_0",
                     .scope = "activations",
                     .dtype = "fp32",
                     .shape = "[2, 3]",
                     .tensors = 2,
                     .bytes = 80 * kMiB}};
  PlannedCell out{.cell = {}, .state = state, .reason = reason};
  out.cell.label = label;
  out.cell.run_id = "0123456789abcdef";
  out.cell.run.device = spec::Device::cuda;
  out.counts = std::make_shared<const spec::DryCounts>(counts);
  out.memory_available_bytes = 2048 * kMiB;
  return out;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t out = 0;
  for (std::string line; std::getline(lines, line);) out = std::max(out, line.size());
  return out;
}

TEST(PlanDocument, HasARowForEachCellWithReadableUnits) {
  auto unknown = planned("fsdp=3", PlanState::failed, "the engine ended with signal 11");
  unknown.counts = nullptr;
  const auto document =
      plan_document("m", {planned("fsdp=1"), planned("fsdp=2", PlanState::infeasible, "too large"), unknown});
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, ContainsRegex("fsdp=1 +feasible +1 +44.0 k +3.44 GiB +44.0 MiB .* 1.23 G .*fsdp 512 B"));
  EXPECT_THAT(text, ContainsRegex("fsdp=2 +infeasible .*\\[1\\]\n"));
  EXPECT_THAT(text, ContainsRegex("fsdp=3 +failed +1 +- +- .*\\[2\\]\n"));
  EXPECT_THAT(text, HasSubstr("[1] too large\n[2] the engine ended with signal 11\n"));
  EXPECT_THAT(text, HasSubstr("m: 3 cells, 1 feasible, 1 infeasible, 1 failed."));
}

TEST(PlanDocument, FitsATerminal) {
  const auto document = plan_document("m", {planned("attention=flash fsdp=1"), planned("attention=flash fsdp=2")});
  EXPECT_LE(widest_line(render_text(document, {.width = 80})), 80U);
  EXPECT_GT(widest_line(render_text(document, {.width = 0})), 80U) << "otherwise the line above says nothing";
}

TEST(PlanDetails, SayTheMemoryThatDecidesAndWhatIsAliveAtThePeak) {
  const auto text = render_text(plan_details(planned("", PlanState::infeasible, "needs more")), {.width = 0});
  EXPECT_THAT(text, HasSubstr("(defaults)\n"));
  EXPECT_THAT(text, HasSubstr("infeasible: needs more"));
  EXPECT_THAT(text, HasSubstr("3.44 GiB needed per device, 1.72 GiB of it alive at the peak, 2.00 GiB available"));
  EXPECT_THAT(text, ContainsRegex("activations +layers\\.\\*\\.mlpwi_0 +fp32 +\\[2, 3\\] +2 +80\\.0 MiB"));
  EXPECT_THAT(text, ContainsRegex("fsdp +all_gather +3 +900 B +500 B"));
  EXPECT_THAT(text, ContainsRegex("weights_bytes +44.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("Stages")));
}

TEST(PlanDetails, OfAPipelineHaveEachStageAndMarkTheOneThatNeedsMost) {
  auto pipeline = planned("pp=2");
  auto counts = *pipeline.counts;
  counts.rank = 1;
  counts.bubble_fraction = 0.25;
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    spec::StageCounts of{.stage = stage, .rank = stage, .layers = 3};
    of.arena_bytes = 82 * kMiB * (stage + 1);
    of.traffic = {{.axis = "pp", .collective = "send", .sent_bytes = 700}};
    counts.stages.push_back(of);
  }
  pipeline.counts = std::make_shared<const spec::DryCounts>(counts);
  const auto text = render_text(plan_details(pipeline), {.width = 0});
  EXPECT_THAT(text, ContainsRegex("\n0 +0 +3 +82\\.0 MiB .*pp 700 B"));
  EXPECT_THAT(text, ContainsRegex("\n1 \\(most\\) +1 +3 +164 MiB .*pp 700 B"));
  EXPECT_THAT(text, HasSubstr("25.0 % of their time"));
}

}  // namespace
}  // namespace perfbench::reports
