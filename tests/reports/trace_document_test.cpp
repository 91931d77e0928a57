// The text about traced steps: percent for people, every field for programs.
#include "reports/content/trace_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

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
            "1,9,2000000,1500000,0,0,0,0,0,0,0,0,500000,0,0\r\n"
            "\r\n"
            "step,rank,part,name,phase,ns\r\n"
            "9,1,gemm,matmul,,1500000\r\n"
            "9,1,idle_host,,,500000\r\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(document))["steps"][0]["gemm_ns"], 1'500'000);
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, HasSubstr("Exposed comm"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("no room")));
}

TEST(TraceDocument, BeginsWithTheTimeOfAStepAndItsLargestParts) {
  // Means of 2 ms and 6 ms: 4.5 of 8 ms are products, 2.5 of 8 ms are idle, and 1 of 8 ms is the optimizer's.
  const auto slow = harness::MadeUpTrace(0)
                        .step(9, 0, 6'000'000)
                        .host(TraceKind::op, "matmul", 0, 3'000'000)
                        .host(TraceKind::op, "adamw", 3'000'000, 4'000'000)
                        .trace();
  EXPECT_THAT(render_text(trace_document({slow, product()}), {.width = 0}),
              testing::StartsWith("A traced step takes 4 ms: 56.2 % gemm, 31.2 % idle host, 12.5 % optimizer\n"));
  EXPECT_THAT(render_text(trace_document({}), {.width = 0}), Not(HasSubstr("takes")));
}

const Timeline& timeline_in(const Document& document) {
  for (const auto& block : document.blocks) {
    if (const auto* found = std::get_if<Timeline>(&block)) return *found;
  }
  throw std::runtime_error("the document has no timeline");
}

TEST(TraceDocument, WorkIsColouredByItsFamilyAndStructureIsGrey) {
  const auto document = trace_document({product()});
  const auto* timeline = &timeline_in(document);
  std::set<std::string> kinds;
  for (const auto& lane : timeline->lanes) {
    for (const auto& span : lane.spans) kinds.insert(span.kind);
  }
  EXPECT_THAT(kinds, testing::ElementsAre("gemm", "idle_host", "step"));
  EXPECT_THAT(timeline->coloured, testing::Contains("gemm"));
  EXPECT_THAT(timeline->coloured, Not(testing::Contains("step")));
}

// Rank 1 computes until `entered`, and rank 0 waits for it in an all-reduce. Both end at 2 ms.
std::vector<harness::RankTrace> two_ranks(std::int64_t entered) {
  std::vector<harness::RankTrace> out;
  for (const std::int64_t rank : {0, 1}) {
    const auto begin = rank == 0 ? 400'000 : entered;
    out.push_back(harness::MadeUpTrace(rank)
                      .step(9, 0, 2'000'000)
                      .host(TraceKind::op, "matmul", 0, begin)
                      .collective("all_reduce", begin, entered + 100'000, 0, "dp")
                      .host(TraceKind::op, "adamw", entered + 100'000, 2'000'000)
                      .trace());
  }
  return out;
}

constexpr spec::MeshSpec kTwoReplicas{.ici = {.dp = 2}, .dcn = {}};

TEST(TraceDocument, TheCriticalPathIsTheFirstLaneAndATable) {
  const auto document = trace_document(two_ranks(1'500'000), kTwoReplicas);
  const auto& lane = timeline_in(document).lanes.front();
  EXPECT_EQ(lane.name, "critical path");
  EXPECT_TRUE(lane.repeats_others) << "a search counts each span once";
  std::vector<std::string> spans;
  for (const auto& span : lane.spans) spans.push_back(span.kind + ": " + span.name);
  EXPECT_THAT(spans, testing::ElementsAre("gemm: matmul, rank 1", "collective: all_reduce, rank 0",
                                          "optimizer: adamw, rank 0"));
  EXPECT_THAT(page_data(document, {}), HasSubstr("repeats_others"));
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, HasSubstr("Critical path of step 9"));
  EXPECT_THAT(text, testing::ContainsRegex("matmul +1\\.500 +75\\.0 % +1\n"));
  EXPECT_THAT(text, HasSubstr("It changes ranks 1 time"));
  const auto rows = nlohmann::json::parse(render_json(document))["critical_path"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], nlohmann::json::parse(R"({"step": 9, "rank": 1, "part": "gemm", "name": "matmul", "phase": "",
                                               "ns": 1500000})"));
}

TEST(TraceDocument, NamesTheRankForWhichOthersWaitLong) {
  const auto finding = [](std::int64_t entered) {
    return render_text(trace_document(two_ranks(entered), kTwoReplicas), {.width = 0});
  };
  EXPECT_THAT(
      finding(1'500'000),
      HasSubstr("1.500 ms of the 2.000 ms of step 9 pass on rank 1; other ranks wait for it in all_reduce (dp)."));
  EXPECT_THAT(finding(420'000), Not(HasSubstr("wait for it"))) << "most of the step passes on rank 0";
  // Rank 1 has most of the path, but rank 0 waits for it for only 1 % of the step.
  auto close = two_ranks(1'500'000);
  for (auto& event : close[0].events) {
    if (event.end_ns == 400'000) event.end_ns = 1'480'000;
    if (event.start_ns == 400'000) event.start_ns = 1'480'000;
  }
  EXPECT_THAT(render_text(trace_document(close, kTwoReplicas), {.width = 0}), Not(HasSubstr("wait for it")));
}

TEST(TraceDocument, TheTableOfACriticalPathEndsWithTheRest) {
  harness::MadeUpTrace made;
  made.step(0, 0, 210);
  for (std::int64_t i = 0; i < 20; ++i) {
    made.device(TraceKind::kernel, "kernel" + std::to_string(i), 1, i * (i + 1) / 2, (i + 1) * (i + 2) / 2);
  }
  const auto document = trace_document({made.trace()});
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, HasSubstr("kernel19"));
  EXPECT_THAT(text, Not(HasSubstr("kernel1 ")));
  EXPECT_THAT(text, HasSubstr("8 others"));
  EXPECT_EQ(nlohmann::json::parse(render_json(document))["critical_path"].size(), 20U) << "programs see all";
}

TEST(TraceDocument, SaysWhyThereIsNoCriticalPath) {
  const auto traces = two_ranks(1'500'000);
  const auto text = [&](const std::optional<spec::MeshSpec>& mesh) {
    return render_text(trace_document(traces, mesh), {.width = 0});
  };
  EXPECT_THAT(text(std::nullopt), HasSubstr("no run.json with a mesh of these ranks"));
  EXPECT_THAT(text(spec::MeshSpec{.ici = {}, .dcn = {.dp = 2}}), HasSubstr("the ranks are on several nodes"));
  EXPECT_THAT(text(spec::MeshSpec{.ici = {}, .dcn = {.dp = 2}}), Not(HasSubstr("Critical path")));
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
