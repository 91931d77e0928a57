// Two traced runs, operation by operation: for people the largest differences, for programs all.
#include "reports/content/trace_difference_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using harness::OperationTime;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

harness::StepAlignment alignment() {
  const auto at = [](std::int64_t start, std::int64_t ms) {
    return OperationTime{start * 1'000'000, (start + ms) * 1'000'000};
  };
  return {.a_step = 3,
          .b_step = 4,
          .a_wall_ns = 30'000'000,
          .b_wall_ns = 42'000'000,
          .operations = {{0, "matmul", "forward", "layers.0", at(0, 10), at(0, 10)},
                         {0, "norm_forward", "forward", "layers.0", at(10, 5), at(10, 15)},
                         {0, "dropout", "forward", "layers.0", std::nullopt, at(25, 2)},
                         {0, "adamw", "optimizer", "", at(15, 15), at(27, 15)}}};
}

harness::Attribution parts() {
  return {.a_s = 0.03,
          .b_s = 0.042,
          .shares = {{.name = "forward norm_forward", .a_s = 0.005, .b_s = 0.015}},
          .a_steps = 1,
          .b_steps = 1};
}

template <class T>
const T* only(const Document& document, const std::string& key) {
  for (const auto& block : document.blocks) {
    if (const auto* found = std::get_if<T>(&block); found != nullptr && found->key == key) return found;
  }
  return nullptr;
}

TEST(TraceDifference, ShowsPeopleTheLargestDifferences) {
  const auto document = trace_difference_document(parts(), alignment(), 2);
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, testing::ContainsRegex("0 +norm_forward +forward +layers.0 +5.000 +15.00 +.10.00"));
  EXPECT_THAT(text, testing::ContainsRegex("0 +dropout +forward +layers.0 +- +2.000 +.2.000"));
  EXPECT_THAT(text, Not(HasSubstr("adamw")));
  EXPECT_THAT(text, HasSubstr("Step 3 of A, 30.00 ms, and step 4 of B, 42.00 ms"));
  const auto json = nlohmann::json::parse(render_json(document));
  ASSERT_THAT(json["operations"], SizeIs(4));
  EXPECT_TRUE(json["operations"][2]["a"].is_null());
  EXPECT_EQ(json["operations"][3]["b"]["start_ns"], 27'000'000);
  EXPECT_EQ(json["a_s"], 0.03);
  EXPECT_THAT(render_csv(document), HasSubstr("0,adamw,optimizer,,15000000,15000000,0\r\n"));
}

TEST(TraceDifference, DrawsTheDelayOfB) {
  const auto document = trace_difference_document(parts(), alignment(), 2);
  const auto* delay = only<Chart>(document, "delay");
  ASSERT_NE(delay, nullptr);
  ASSERT_THAT(delay->series, SizeIs(1));
  ASSERT_THAT(delay->series[0].points, SizeIs(3)) << "what both have";
  EXPECT_EQ(delay->series[0].points[0].y, 0);
  EXPECT_EQ(delay->series[0].points[1].y, 10);
  EXPECT_EQ(delay->series[0].points[2].y, 12) << "all of the difference at the end";
}

TEST(TraceDifference, LaysBothStepsAboveEachOther) {
  const auto document = trace_difference_document(parts(), alignment(), 2);
  const auto* both = only<Timeline>(document, "both");
  ASSERT_NE(both, nullptr);
  ASSERT_THAT(both->lanes, SizeIs(2));
  EXPECT_EQ(both->lanes[0].name, "rank 0, A");
  EXPECT_THAT(both->lanes[0].spans, SizeIs(3));
  ASSERT_THAT(both->lanes[1].spans, SizeIs(4));
  EXPECT_EQ(both->lanes[1].spans[0].kind, "as long");
  EXPECT_EQ(both->lanes[1].spans[1].kind, "longer in B");
  EXPECT_EQ(both->lanes[1].spans[1].name, "forward norm_forward of layers.0, +10.00 ms in B");
  EXPECT_EQ(both->lanes[1].spans[2].kind, "B alone");
}

}  // namespace
}  // namespace perfbench::reports
