// Operations of two steps find each other, and those of only one step get the right place.
#include "harness/trace/step_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using testing::ElementsAre;

// A step of layers in sequence, each with a matmul of that many ns and a norm of 10.
MadeUpTrace& add_step(MadeUpTrace& trace, std::int64_t step, std::int64_t begin, const std::vector<std::int64_t>& ns) {
  std::int64_t end = begin;
  for (const auto t : ns) end += t + 10;
  trace.step(step, begin, end).host(TraceKind::phase, "forward", begin, end);
  std::int64_t at = begin;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    trace.host(TraceKind::range, "layers." + std::to_string(i), at, at + ns[i] + 10)
        .host(TraceKind::op, "matmul", at, at + ns[i])
        .host(TraceKind::op, "norm_forward", at + ns[i], at + ns[i] + 10);
    at += ns[i] + 10;
  }
  return trace;
}

RankTrace steps_of(std::int64_t rank, const std::vector<std::vector<std::int64_t>>& steps) {
  MadeUpTrace trace(rank);
  std::int64_t begin = 1000 * (rank + 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    add_step(trace, static_cast<std::int64_t>(i), begin, steps[i]);
    begin += 10'000;
  }
  return trace.trace();
}

std::vector<std::string> words(const StepAlignment& alignment) {
  std::vector<std::string> out;
  for (const auto& operation : alignment.operations) {
    const auto time = [](const std::optional<OperationTime>& t) {
      return t ? std::to_string(t->start_ns) + "+" + std::to_string(t->ns()) : std::string("-");
    };
    out.push_back(std::to_string(operation.rank) + " " + operation.phase + " " + operation.name + " " +
                  operation.range + " " + time(operation.a) + " " + time(operation.b));
  }
  return out;
}

TEST(StepAlignment, PairsTheOperationsOfTheStepsOfMiddleLength) {
  const auto found = align_steps({steps_of(0, {{500, 500}, {20, 20}, {30, 40}})}, {steps_of(0, {{30, 45}})});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a_step, 2);
  EXPECT_EQ(found->b_step, 0);
  EXPECT_EQ(found->a_wall_ns, 90);
  EXPECT_EQ(found->b_wall_ns, 95);
  EXPECT_THAT(words(*found),
              ElementsAre("0 forward matmul layers.0 0+30 0+30", "0 forward norm_forward layers.0 30+10 30+10",
                          "0 forward matmul layers.1 40+40 40+45", "0 forward norm_forward layers.1 80+10 85+10"));
  EXPECT_EQ(found->operations[2].difference_ns(), 5);
}

// One layer of the other step is missing, and one operation is done twice.
TEST(StepAlignment, OperationsOfOneStepStandWhereTheyRan) {
  MadeUpTrace more;
  add_step(more, 0, 0, {30});
  more.host(TraceKind::range, "layers.0", 40, 60).host(TraceKind::op, "matmul", 40, 60);
  more.trace().events.front().end_ns = 60;
  more.trace().events[1].end_ns = 60;
  const auto found = align_steps({steps_of(0, {{30, 40}})}, {more.trace()});
  ASSERT_TRUE(found);
  EXPECT_THAT(words(*found),
              ElementsAre("0 forward matmul layers.0 0+30 0+30", "0 forward norm_forward layers.0 30+10 30+10",
                          "0 forward matmul layers.0 - 40+20", "0 forward matmul layers.1 40+40 -",
                          "0 forward norm_forward layers.1 80+10 -"));
  EXPECT_EQ(found->operations[2].difference_ns(), 20);
  EXPECT_EQ(found->operations[3].difference_ns(), -40);
}

TEST(StepAlignment, UsesTheRanksThatBothHave) {
  const auto found = align_steps({steps_of(0, {{30}}), steps_of(1, {{50}})}, {steps_of(1, {{20}}), steps_of(2, {{9}})});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->a_wall_ns, 60) << "of the slowest rank";
  EXPECT_THAT(words(*found),
              ElementsAre("1 forward matmul layers.0 0+50 0+20", "1 forward norm_forward layers.0 50+10 20+10"));
  EXPECT_FALSE(align_steps({steps_of(0, {{30}})}, {steps_of(1, {{30}})}));
  EXPECT_FALSE(align_steps({steps_of(0, {})}, {steps_of(0, {{30}})}));
}

}  // namespace
}  // namespace perfbench::harness
