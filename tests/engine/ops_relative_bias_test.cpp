#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::gamma;
using oracle::random_ids;
using oracle::random_operand;
using oracle::Values;

class RelativeBias : public OpsTest, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Storage, RelativeBias, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

struct Sizes {
  std::int64_t batch, seq_len, heads, buckets;
};
// One of each, fewer distances than buckets, and more than a block has threads.
constexpr Sizes kSizes[] = {{1, 1, 1, 1}, {2, 5, 3, 8}, {3, 700, 7, 32}};

TEST_P(RelativeBias, IsItsBucketsRowOfTheTable) {
  for (const auto& [batch, seq_len, heads, buckets] : kSizes) {
    const auto table = random_operand(GetParam(), Shape{buckets, heads}, 1);
    const auto of_distance = random_ids(Shape{seq_len}, static_cast<std::int32_t>(buckets), 2);
    const auto bias = random_operand(DType::f32, Shape{heads, seq_len}, 3);
    ops_->relative_bias_forward({.bias_HT = bias, .table_UH = table, .buckets_T = of_distance});
    const auto rows = table.values(), ids = of_distance.values(), found = bias.values();
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t d = 0; d < seq_len; ++d) {
        const auto bucket = static_cast<std::int64_t>(ids[static_cast<std::size_t>(d)]);
        ASSERT_EQ(found[static_cast<std::size_t>(h * seq_len + d)], rows[static_cast<std::size_t>(bucket * heads + h)]);
      }
    }
  }
}

// Sums of at most B*T terms and the old value.
TEST_P(RelativeBias, GradientIsTheSumOfItsDistances) {
  for (const auto& [batch, seq_len, heads, buckets] : kSizes) {
    for (const auto write : {Write::overwrite, Write::accumulate}) {
      const auto of_distance = random_ids(Shape{seq_len}, static_cast<std::int32_t>(buckets), 2);
      const auto dbias = random_operand(DType::f32, Shape{batch, heads, seq_len}, 4);
      const auto dtable = random_operand(DType::f32, Shape{buckets, heads}, 5);
      Values want = dtable.values();
      if (write == Write::overwrite) want.assign(want.size(), 0.0);
      Values magnitude;
      for (const double x : want) magnitude.push_back(std::abs(x));
      const auto ids = of_distance.values(), terms = dbias.values();
      for (std::int64_t i = 0; i < batch * heads * seq_len; ++i) {
        const auto bucket = static_cast<std::int64_t>(ids[static_cast<std::size_t>(i % seq_len)]);
        const auto to = static_cast<std::size_t>(bucket * heads + i / seq_len % heads);
        want[to] += terms[static_cast<std::size_t>(i)];
        magnitude[to] += std::abs(terms[static_cast<std::size_t>(i)]);
      }
      ops_->relative_bias_backward({.dtable_UH = dtable, .dbias_BHT = dbias, .buckets_T = of_distance, .write = write});
      const double relative = gamma(static_cast<double>(batch * seq_len) + 1);
      expect_within(
          dtable, want, [&](std::size_t i) { return relative * magnitude[i]; }, "dtable");
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
