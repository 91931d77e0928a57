// The explanation of a cell's memory, from counts written by hand.
#include "reports/content/explanation_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using harness::Explanation;
using harness::PlannedCell;
using harness::PlanState;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMiB = 1 << 20;

// 1,000 MiB in use at the peak, in an arena of 1,200, on a device with 2,000.
spec::DryCounts counts() {
  spec::DryCounts out;
  out.parameters = 44'000;
  out.arena_bytes = 1200 * kMiB;
  out.peak.total_bytes = 1000 * kMiB;
  out.peak.weights_bytes = 300 * kMiB;
  out.flops.feed_forward_flops = 900'000'000;
  out.flops.rematerialised_flops = 300'000'000;
  out.traffic = {{.axis = "fsdp", .collective = "all_gather", .messages = 3, .payload_bytes = 900, .sent_bytes = 500},
                 {.axis = "fsdp", .collective = "reduce_scatter", .sent_bytes = 12}};
  out.largest = {{"layers.*.mlpwi_0", "activations", "bf16", "[2, 3]", 7, 600 * kMiB},
                 {"layers.*.weight", "weights", "f32", "[9]", 8, 300 * kMiB},
                 {"layers.*.query_proj.fetched", "activations", "bf16", "[2, 3]", 1, 100 * kMiB}};
  out.host_at_peak = {{"layers.3.query_proj.host", "host", "bf16", "[2, 3]", 50 * kMiB},
                      {"layers.4.query_proj.host", "host", "bf16", "[2, 3]", 50 * kMiB}};
  out.intermediates = {{"query_proj", "query_proj", spec::SavePlace::offload, 50 * kMiB, 16},
                       {"mlpwi_0", "mlpwi_0", spec::SavePlace::device, 80 * kMiB, 16},
                       {"context", "context", spec::SavePlace::remat, 20 * kMiB, 16}};
  out.peak_at = {.phase = "backward", .range = "layers.3 recompute", .tensor = "layers.3.mlpwi_0"};
  return out;
}

PlannedCell planned(const std::string& label, const spec::DryCounts& of = counts()) {
  PlannedCell out;
  out.cell.label = label;
  out.cell.run_id = "0123456789abcdef";
  out.cell.run.device = spec::Device::cuda;
  out.cell.run.global_batch = 8;
  out.counts = std::make_shared<const spec::DryCounts>(of);
  out.memory_available_bytes = 2000 * kMiB;
  out.memory_needed_bytes = spec::needed_bytes(of);
  return out;
}

// 3,000 MiB of 2,000, and two policies that fit.
Explanation too_large() {
  auto large = counts();
  large.arena_bytes = 3000 * kMiB;
  Explanation out{.cell = planned("fsdp=2", large), .alternatives = {}, .smallest = {}, .tried = 9};
  out.cell.state = PlanState::infeasible;
  out.cell.reason = "needs more";
  auto of_host = counts();
  of_host.offloaded_bytes = 70 * kMiB;
  out.alternatives.push_back({{0}, planned("remat=full", of_host)});
  auto divided = planned("grad_accum=4");
  divided.cell.run.grad_accum = 4;
  out.alternatives.push_back({{1}, divided});
  return out;
}

std::string explanation_text(const Explanation& explanation) {
  return render_text(explanation_document(explanation), {.width = 0});
}

TEST(ExplanationDocument, ComparesTheNeedWithTheDevice) {
  const auto text = explanation_text({.cell = planned("")});
  EXPECT_THAT(text, HasSubstr("(defaults)\n"));
  EXPECT_THAT(text, HasSubstr("rank 0 needs most: 1.17 GiB per device, 1.95 GiB available, 800 MiB to spare"));
  EXPECT_THAT(text, ContainsRegex("weights +300 MiB +15\\.0 %"));
  EXPECT_THAT(text, ContainsRegex("activations +700 MiB +35\\.0 %"));
  EXPECT_THAT(text, ContainsRegex("gaps +200 MiB +10\\.0 %"));
  EXPECT_THAT(text, ContainsRegex("needed +1\\.17 GiB +60\\.0 %"));
  EXPECT_THAT(explanation_text(too_large()), HasSubstr("2.93 GiB per device, 1.95 GiB available, 1000 MiB too little"));
}

TEST(ExplanationDocument, SaysWhenThePeakIs) {
  EXPECT_THAT(explanation_text({.cell = planned("a=1")}),
              HasSubstr("Peak: 1000 MiB alive: backward, layers.3 recompute, when layers.3.mlpwi_0 was made"));
  auto silent = counts();
  silent.peak_at = {};
  EXPECT_THAT(explanation_text({.cell = planned("a=1", silent)}), HasSubstr("Peak: 1000 MiB alive\n"));
}

TEST(ExplanationDocument, SaysWhereEachValueIsKeptAndItsSize) {
  const auto text = explanation_text({.cell = planned("a=1")});
  EXPECT_THAT(text, ContainsRegex("query_proj +query_proj +offloaded +50\\.0 MiB +16 +1 +100 MiB +100 MiB"));
  EXPECT_THAT(text, ContainsRegex("mlpwi_0 +mlpwi_0 +saved +80\\.0 MiB +16 +7 +600 MiB +0 B"));
  EXPECT_THAT(text, ContainsRegex("context +context +recomputed +20\\.0 MiB +16 +0 +0 B +0 B"));
}

TEST(ExplanationDocument, ListsTheTensorsAtThePeakToTheByte) {
  const auto document = explanation_document({.cell = planned("a=1")});
  EXPECT_THAT(render_text(document, {.width = 0}),
              ContainsRegex("activations +layers\\.\\*\\.mlpwi_0 +bf16 +\\[2, 3\\] +7 +600 MiB +60\\.0 %"));
  const auto json = nlohmann::json::parse(render_json(document));
  std::int64_t sum = 0;
  for (const auto& row : json["tensors"]) sum += row["bytes"].get<std::int64_t>();
  EXPECT_EQ(sum, json["cell"][0]["peak_bytes"]);
  std::int64_t needed = 0;
  for (const auto& row : json["memory"]) {
    if (row["part"] != "needed") needed += row["bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(needed, json["cell"][0]["needed_bytes"]);
}

TEST(ExplanationDocument, ListsAlternativesBesideTheCellItself) {
  const auto text = explanation_text(too_large());
  EXPECT_THAT(text, HasSubstr("Closest cells that fit"));
  EXPECT_THAT(text, ContainsRegex("\\(unchanged\\) +2\\.93 GiB +0 B +25\\.0 % +1 +512 B +0 B +1 +8\n"));
  EXPECT_THAT(text, ContainsRegex("remat=full +1\\.17 GiB +800 MiB +25\\.0 % +1 +512 B +70\\.0 MiB +1 +8\n"));
  EXPECT_THAT(text, ContainsRegex("grad_accum=4 +1\\.17 GiB +800 MiB +25\\.0 % +1 +512 B +0 B +4 +2\n"));
  EXPECT_THAT(text, HasSubstr("2 of 9 tried"));
}

TEST(ExplanationDocument, SaysWhatWasTriedIfNothingFits) {
  auto nothing = too_large();
  nothing.alternatives.clear();
  nothing.smallest = harness::Alternative{{0, 1}, planned("remat=full fsdp_prefetch=0")};
  const auto text = explanation_text(nothing);
  EXPECT_THAT(text, HasSubstr("No cell fits among 9"));
  EXPECT_THAT(text, ContainsRegex("remat=full fsdp_prefetch=0 +1\\.17 GiB"));
}

TEST(ExplanationDocument, ACellThatWasNotCountedShowsTheReason) {
  PlannedCell unknown;
  unknown.state = PlanState::excluded;
  unknown.reason = "known";
  const auto text = explanation_text({.cell = unknown});
  EXPECT_THAT(text, HasSubstr("excluded: known"));
  EXPECT_THAT(text, Not(HasSubstr("Peak")));
}

TEST(ExplanationDocument, APipelineHasEachStageAndMarksTheOneThatNeedsMost) {
  auto pipeline = counts();
  pipeline.rank = 1;
  pipeline.bubble_fraction = 0.25;
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    spec::StageCounts of{.stage = stage, .rank = stage, .layers = 3};
    of.arena_bytes = 82 * kMiB * (stage + 1);
    of.traffic = {{.axis = "pp", .collective = "send", .sent_bytes = 700}};
    of.peak.total_bytes = 8 * kMiB;
    of.largest = {{.name = "layers.*.qkv", .scope = "activations", .tensors = 3, .bytes = 2 * kMiB}};
    pipeline.stages.push_back(of);
  }
  const auto text = explanation_text({.cell = planned("pp=2", pipeline)});
  EXPECT_THAT(text, HasSubstr("rank 1, of stage 1, needs most"));
  EXPECT_THAT(text, ContainsRegex("\n0 +0 +3 +82\\.0 MiB .*pp 700 B"));
  EXPECT_THAT(text, ContainsRegex("\n1 \\(most\\) +1 +3 +164 MiB .*pp 700 B"));
  EXPECT_THAT(text, HasSubstr("25.0 % of their time"));
  EXPECT_THAT(text, ContainsRegex("\n +1 +1 +activations +layers\\.\\*\\.qkv +3 +2\\.00 MiB +25\\.0 %"));
}

}  // namespace
}  // namespace perfbench::reports
