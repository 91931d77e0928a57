// The shares of a difference sum to it, and the main cause comes first.
#include "harness/trace/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace perfbench::harness {
namespace {

using testing::SizeIs;

StepSplit split(std::int64_t step, std::vector<StepShare> shares, std::int64_t rank = 0) {
  StepSplit out{.rank = rank, .step = step, .shares = std::move(shares)};
  for (const auto& share : out.shares) out.wall_ns += share.ns;
  return out;
}

StepShare matmul(const char* phase, std::int64_t ns) {
  return {TracePart::gemm, "matmul", phase, ns};
}

TEST(Attribution, NamesTheShareThatGrewAndTheOneThatIsNew) {
  const auto found = attribute({{split(0, {matmul("forward", 100), matmul("backward", 200)})}},
                               {{split(0, {matmul("forward", 100),
                                           matmul("backward", 260),
                                           {TracePart::collective, "all_gather", "forward", 30},
                                           {TracePart::idle_host, "", "", 10}})}});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->difference_s(), 100e-9);
  ASSERT_THAT(found->shares, SizeIs(4));
  EXPECT_EQ(found->shares[0].name, "backward matmul");
  EXPECT_DOUBLE_EQ(found->shares[0].difference_s(), 60e-9);
  EXPECT_EQ(found->shares[1].name, "forward all_gather (exposed)");
  EXPECT_EQ(found->shares[1].a_s, 0);
  EXPECT_EQ(found->shares[2].name, "idle: host");
}

TEST(Attribution, SharesSumToTheDifferenceWhateverTheSteps) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> ns(0, 1'000'000);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<StepSplit>> sides[2];
    for (auto& runs : sides) {
      for (int run = 0; run < 3; ++run) {
        runs.emplace_back();
        for (std::int64_t step = 0; step < 5; ++step) {
          for (std::int64_t rank = 0; rank < 2; ++rank) {
            runs.back().push_back(split(step,
                                        {matmul("forward", ns(random)),
                                         {TracePart::copy, "copy", "", ns(random)},
                                         {TracePart::idle_dependency, "", "", ns(random)}},
                                        rank));
          }
        }
      }
    }
    const auto found = attribute(sides[0], sides[1]);
    ASSERT_TRUE(found);
    double sum = 0;
    for (const auto& share : found->shares) sum += share.difference_s();
    // Sums of 7 steps of below 3 ms: each addition rounds by at most 2^-53 of 3 ms, for some dozens of additions.
    EXPECT_NEAR(sum, found->difference_s(), 1e-16);
  }
}

TEST(Attribution, TakesTheMiddleHalfOfTheStepsAndTheSlowestRank) {
  const auto steady = split(0, {matmul("forward", 100)});
  std::vector<StepSplit> disturbed{split(0, {matmul("forward", 100)}), split(1, {matmul("forward", 90)}),
                                   split(2, {matmul("forward", 100)}), split(3, {matmul("forward", 9000)})};
  const auto found = attribute({{steady}}, {disturbed});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->b_steps, 2U);
  EXPECT_DOUBLE_EQ(found->difference_s(), 0);
  const auto ranks =
      attribute({{steady}}, {{split(0, {matmul("forward", 50)}, 0), split(0, {matmul("forward", 70)}, 1)}});
  ASSERT_TRUE(ranks);
  EXPECT_DOUBLE_EQ(ranks->b_s, 70e-9);
}

TEST(Attribution, SaysNothingWithoutStepsAndCountsWhatWasDropped) {
  EXPECT_FALSE(attribute({}, {{split(0, {})}}));
  EXPECT_FALSE(attribute({{}}, {{split(0, {})}}));
  auto a = split(0, {matmul("forward", 1)});
  auto b = split(1, {matmul("forward", 1)});
  a.dropped_records = b.dropped_records = 7;  // of one rank, repeated by both of its steps
  const auto found = attribute({{a, b}}, {{split(0, {matmul("forward", 1)})}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dropped_records, 7);
}

}  // namespace
}  // namespace perfbench::harness
