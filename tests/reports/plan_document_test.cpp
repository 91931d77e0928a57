// A plan for people, from counts written by hand.
#include "reports/content/plan_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using harness::PlannedCell;
using harness::PlanState;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::int64_t kMebibyte = 1 << 20;

// 1,760 MiB in use at the peak, in an arena of twice that.
PlannedCell cell_in_plan(const std::string& label, PlanState state = PlanState::feasible,
                         const std::string& reason = "") {
  spec::DryCounts counts;
  counts.parameters = 44'000;
  counts.arena_bytes = 3520 * kMebibyte;
  counts.peak.total_bytes = 1760 * kMebibyte;
  counts.peak.weights_bytes = 44 * kMebibyte;
  counts.flops.feed_forward_flops = 1'234'000'000;
  counts.traffic = {
      {.axis = "fsdp", .collective = "all_gather", .messages = 3, .payload_bytes = 900, .sent_bytes = 500},
      {.axis = "fsdp", .collective = "reduce_scatter", .sent_bytes = 12}};
  counts.largest = {{.name = "layers.*.mlpwi_0",
                     .scope = "activations",
                     .dtype = "fp32",
                     .shape = "[2, 3]",
                     .tensors = 2,
                     .bytes = 80 * kMebibyte}};
  PlannedCell out{.cell = {}, .state = state, .reason = reason};
  out.cell.label = label;
  out.cell.run_id = "0123456789abcdef";
  out.cell.run.device = spec::Device::cuda;
  out.counts = std::make_shared<const spec::DryCounts>(counts);
  out.memory_available_bytes = 2048 * kMebibyte;
  return out;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t out = 0;
  for (std::string line; std::getline(lines, line);) out = std::max(out, line.size());
  return out;
}

TEST(PlanDocument, HasARowForEachCellWithReadableUnits) {
  auto unknown = cell_in_plan("fsdp=3", PlanState::failed, "the engine ended with signal 11");
  unknown.counts = nullptr;
  const auto document =
      plan_document("m", {cell_in_plan("fsdp=1"), cell_in_plan("fsdp=2", PlanState::infeasible, "too large"), unknown});
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, ContainsRegex("fsdp=1 +feasible +1 +44.0 k +3.44 GiB +44.0 MiB .* 1.23 G .*fsdp 512 B"));
  EXPECT_THAT(text, ContainsRegex("fsdp=2 +infeasible .*\\[1\\]\n"));
  EXPECT_THAT(text, ContainsRegex("fsdp=3 +failed +1 +- +- .*\\[2\\]\n"));
  EXPECT_THAT(text, HasSubstr("[1] too large\n[2] the engine ended with signal 11\n"));
  EXPECT_THAT(text, HasSubstr("m: 3 cells, 1 feasible, 1 infeasible, 1 failed."));
}

TEST(PlanDocument, SaysHowWeightsArePreparedIfThePlanChose) {
  auto kept = cell_in_plan("fsdp=1"), cast = cell_in_plan("fsdp=2");
  kept.cell.run.bf16_weights = spec::Bf16Weights::kept;
  kept.bf16_weights_because = "with kept weights the run needs 60 MiB";
  cast.bf16_weights_because = "with kept weights the run would need 62 MiB";
  const auto text = render_text(plan_document("m", {kept, cast, cell_in_plan("fsdp=3")}), {.width = 0});
  EXPECT_THAT(text, ContainsRegex("fsdp=1 .* kept *\n"));
  EXPECT_THAT(text, ContainsRegex("fsdp=2 .* cast +\\[1\\]\n"));
  EXPECT_THAT(text, HasSubstr("[1] bf16_weights: cast: with kept weights the run would need 62 MiB\n"));
  EXPECT_THAT(render_text(plan_document("m", {cell_in_plan("fsdp=3")}), {.width = 0}),
              testing::Not(HasSubstr("bf16 weights")));
}

TEST(PlanDocument, FitsATerminal) {
  const auto document =
      plan_document("m", {cell_in_plan("attention=flash fsdp=1"), cell_in_plan("attention=flash fsdp=2")});
  EXPECT_LE(widest_line(render_text(document, {.width = 80})), 80U);
  EXPECT_GT(widest_line(render_text(document, {.width = 0})), 80U) << "otherwise the line above says nothing";
}

}  // namespace
}  // namespace perfbench::reports
