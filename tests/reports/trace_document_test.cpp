// The text about traced steps: percent for people, every field for programs.
#include "reports/content/trace_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "reports/render/document/render.h"
#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::reports {
namespace {

using spec::TraceKind;
using testing::HasSubstr;
using testing::Not;

// A product takes three quarters of 2 ms.
harness::RankTrace product(std::int64_t rank = 1) {
  return harness::MadeUpTrace(rank)
      .step(9, 1'000'000, 3'000'000)
      .host(TraceKind::op, "matmul", 1'000'000, 2'500'000)
      .trace();
}

TEST(TraceDocument, HasEveryFieldForProgramsAndPercentForPeople) {
  const auto document = trace_document({product()});
  EXPECT_EQ(render_csv(document),
            "rank,step,wall_ns,gemm_ns,attention_ns,norm_ns,elementwise_ns,optimizer_ns,other_ns,copy_ns,"
            "exposed_comm_ns,idle_dependency_ns,idle_host_ns,collective_ns,dropped_records\r\n"
            "1,9,2000000,1500000,0,0,0,0,0,0,0,0,500000,0,0\r\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(document))["steps"][0]["gemm_ns"], 1'500'000);
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, HasSubstr("Exposed comm"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("no room")));
}

TEST(TraceDocument, WorkIsColouredByItsFamilyAndStructureIsGrey) {
  const auto document = trace_document({product()});
  const Timeline* timeline = nullptr;
  for (const auto& block : document.blocks) {
    if (const auto* found = std::get_if<Timeline>(&block)) timeline = found;
  }
  ASSERT_NE(timeline, nullptr);
  std::set<std::string> kinds;
  for (const auto& lane : timeline->lanes) {
    for (const auto& span : lane.spans) kinds.insert(span.kind);
  }
  EXPECT_THAT(kinds, testing::ElementsAre("gemm", "step"));
  EXPECT_THAT(timeline->coloured, testing::Contains("gemm"));
  EXPECT_THAT(timeline->coloured, Not(testing::Contains("step")));
}

TEST(TraceDocument, CountsDroppedRecordsOfEachRankOnce) {
  auto first = harness::MadeUpTrace(0).step(1, 0, 10).step(2, 10, 20).trace();
  auto second = product();
  first.end.dropped_records = 12;
  second.end.dropped_records = 3;
  EXPECT_THAT(render_text(trace_document({first, second}), {.width = 0}), HasSubstr("15 trace records were dropped"));
}

TEST(TraceDocument, SaysWhenTracedStepsWereExecutedDifferentlyFromTimedOnes) {
  auto singly = product();
  EXPECT_THAT(render_markdown(trace_document({singly})), Not(HasSubstr("CUDA graphs")));
  singly.end.executed_singly = true;
  EXPECT_THAT(render_markdown(trace_document({product(0), singly})), HasSubstr("CUDA graphs"));
}

}  // namespace
}  // namespace perfbench::reports
