// Operations of ranks that each have a part of the vocabulary: together they give the operation on all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/core/error.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/rows.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::gamma;
using oracle::kUnitF32;
using oracle::Operand;
using oracle::random_ids;
using oracle::random_operand;
using oracle::RowsShape;
using oracle::Values;

class Vocabulary : public OpsTest, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Storage, Vocabulary, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

// The ranks' parts of a dim, of different sizes.
struct Part {
  std::int64_t begin;
  std::int64_t size;
};
std::vector<Part> parts_of(std::int64_t whole, std::int64_t ranks) {
  std::vector<Part> parts;
  for (std::int64_t r = 0; r < ranks; ++r)
    parts.push_back({r * whole / ranks, (r + 1) * whole / ranks - r * whole / ranks});
  return parts;
}

Values slice(const Values& all, std::int64_t first, std::int64_t count) {
  return {all.begin() + first, all.begin() + first + count};
}

TEST_P(Vocabulary, ARankLooksUpTheTokensWhoseRowsItHas) {
  const std::int64_t vocabulary = 11, width = 37, seq_len = 5, rows = 15;
  const auto table = random_operand(GetParam(), Shape{vocabulary, width}, 1);
  const auto position = random_operand(GetParam(), Shape{seq_len, width}, 2);
  const auto tokens = random_ids(Shape{rows}, vocabulary, 3);
  const auto ids = tokens.values();
  for (const bool positions : {false, true}) {
    for (const auto& part : parts_of(vocabulary, 3)) {
      const Operand own(GetParam(), Shape{part.size, width},
                        slice(table.values(), part.begin * width, part.size * width));
      const Operand x(GetParam(), Shape{rows, width}, Values(oracle::index(rows * width), 7.0));
      ops_->embedding_forward({.x_NM = x,
                               .tokens_N = tokens,
                               .table_VM = own,
                               .range = {.first = part.begin, .all = vocabulary},
                               .position_TM = positions ? position.view() : TensorView{},
                               .seq_len = seq_len});
      Values want(x.size());
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = static_cast<std::int64_t>(ids[oracle::index(r)]) - part.begin;
        for (std::int64_t i = 0; i < width; ++i) {
          double& value = want[oracle::index(r * width + i)];
          if (row >= 0 && row < part.size) value += own.values()[oracle::index(row * width + i)];
          if (positions) value += position.values()[oracle::index(r % seq_len * width + i)];
        }
      }
      expect_within(
          x, want, [](std::size_t) { return 0.0; }, "x");
    }
  }
}

TEST_P(Vocabulary, ARankSumsTheGradientsOfItsRows) {
  const std::int64_t vocabulary = 11, width = 37, seq_len = 5, rows = 40;
  const auto tokens = random_ids(Shape{rows}, vocabulary, 3);
  const auto dx = random_operand(GetParam(), Shape{rows, width}, 4);
  const Operand whole(DType::f32, Shape{vocabulary, width});
  ops_->embedding_backward({.dtable_VM = whole, .dx_NM = dx, .tokens_N = tokens, .seq_len = seq_len});
  for (const auto& part : parts_of(vocabulary, 3)) {
    const Operand own(DType::f32, Shape{part.size, width});
    ops_->embedding_backward({.dtable_VM = own,
                              .range = {.first = part.begin, .all = vocabulary},
                              .dx_NM = dx,
                              .tokens_N = tokens,
                              .seq_len = seq_len});
    EXPECT_EQ(own.values(), slice(whole.values(), part.begin * width, part.size * width));
  }
}

TEST_P(Vocabulary, OneHotRowsHaveAOneInTheColumnOfTheirToken) {
  const std::int64_t rows = 40;
  for (const std::int64_t vocabulary : {1, 11, 64, 1003}) {
    const auto tokens = random_ids(Shape{rows}, static_cast<std::int32_t>(vocabulary), 3);
    const auto ids = tokens.values();
    for (const std::int64_t ranks : {std::int64_t{1}, std::min<std::int64_t>(vocabulary, 3)}) {
      for (const auto& part : parts_of(vocabulary, ranks)) {
        const Operand own(GetParam(), Shape{rows, part.size}, Values(oracle::index(rows * part.size), 7.0));
        ops_->one_hot(
            {.rows_NV = own, .tokens_N = tokens, .range = {.first = part.begin, .all = ranks > 1 ? vocabulary : 0}});
        Values want(own.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto column = static_cast<std::int64_t>(ids[oracle::index(r)]) - part.begin;
          if (column >= 0 && column < part.size) want[oracle::index(r * part.size + column)] = 1.0;
        }
        EXPECT_EQ(own.values(), want) << vocabulary << " from " << part.begin;
      }
    }
  }
}

// As an embedding by products uses the lookup: without rows of tokens, for positions only.
TEST_P(Vocabulary, ATableWithoutRowsLeavesThePositions) {
  const std::int64_t width = 37, seq_len = 5, rows = 15;
  const auto position = random_operand(GetParam(), Shape{seq_len, width}, 2);
  const auto dx = random_operand(GetParam(), Shape{rows, width}, 4);
  const auto tokens = random_ids(Shape{rows}, 11, 3);
  const Operand table(GetParam(), Shape{1, width}, Values(oracle::index(width), 5.0));
  const Operand dtable(DType::f32, Shape{1, width}, Values(oracle::index(width), 5.0));
  const Operand x(GetParam(), Shape{rows, width});
  const Operand dposition(DType::f32, Shape{seq_len, width});
  constexpr TokenRange kRange{.first = 0, .all = 11};
  ops_->embedding_forward({.x_NM = x,
                           .tokens_N = tokens,
                           .table_VM = table.view().slice(0, Shape{0, width}),
                           .range = kRange,
                           .position_TM = position,
                           .seq_len = seq_len});
  ops_->embedding_backward({.dtable_VM = dtable.view().slice(0, Shape{0, width}),
                            .range = kRange,
                            .dposition_TM = dposition,
                            .dx_NM = dx,
                            .tokens_N = tokens,
                            .seq_len = seq_len});
  const auto forward = x.values();
  for (std::int64_t i = 0; i < rows * width; ++i) {
    EXPECT_EQ(forward[oracle::index(i)], position.values()[oracle::index(i % (seq_len * width))]);
  }
  const auto d = dx.values();
  const auto backward = dposition.values();
  for (std::int64_t i = 0; i < seq_len * width; ++i) {
    float sum = 0;
    for (std::int64_t r = 0; r < 3; ++r) sum += static_cast<float>(d[oracle::index(r * seq_len * width + i)]);
    EXPECT_EQ(backward[oracle::index(i)], static_cast<double>(sum));
  }
  EXPECT_EQ(dtable.values(), Values(oracle::index(width), 5.0));
}

// The bound of the fused operation (ops_rows_test.cpp), two more roundings for each of a rank's three numbers, and
// gamma_ranks for their sums.
TEST_P(Vocabulary, CrossEntropyOfPartsEqualsTheOracle) {
  constexpr std::int64_t kRanks = 3;
  for (const RowsShape shape : {RowsShape{1, 3}, {3, 17}, {5, 1024}, {4, 3001}, {2, 50257}}) {
    SCOPED_TRACE(shape.width);
    const auto logits = random_operand(GetParam(), Shape{shape.rows, shape.width}, 1, 30.0);
    auto ids = random_ids(Shape{shape.rows}, static_cast<std::int32_t>(shape.width), 2).values();
    if (shape.rows > 1) ids.back() = kNoTarget;
    const Operand targets(DType::i32, Shape{shape.rows}, ids);
    constexpr double kScale = 0.125;
    const double counted = 4.0;
    const auto want = oracle::cross_entropy(logits.values(), ids, shape, kScale / counted);
    const Operand statistics(DType::f32, Shape{kRanks, kCrossEntropyStatistics, shape.rows});
    const auto parts = parts_of(shape.width, kRanks);
    std::vector<Operand> columns;
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
      const auto& part = parts[oracle::index(rank)];
      Values own;
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        const auto row = slice(logits.values(), r * shape.width + part.begin, part.size);
        own.insert(own.end(), row.begin(), row.end());
      }
      columns.emplace_back(GetParam(), Shape{shape.rows, part.size}, own);
      ops_->cross_entropy_part({.statistics_3N = statistics.view().slice(rank * kCrossEntropyStatistics * shape.rows,
                                                                         Shape{kCrossEntropyStatistics, shape.rows}),
                                .logits_NV = columns.back(),
                                .targets_N = targets,
                                .range = {.first = part.begin, .all = shape.width}});
    }
    constexpr double kArgument = 2.0 * 16.0 * kUnitF32;  // logits lie within 16 of the maximum
    const double relative = gamma(64.0 + 16.0 + 8.0 + 2.0 * kCrossEntropyStatistics + kRanks) + kArgument;
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
      const auto& part = parts[oracle::index(rank)];
      const Operand losses(DType::f32, Shape{shape.rows});
      ops_->cross_entropy_whole({.losses_N = losses,
                                 .logits_NV = columns[oracle::index(rank)],
                                 .statistics_R3N = statistics,
                                 .targets_N = targets,
                                 .range = {.first = part.begin, .all = shape.width},
                                 .gradient_scale = kScale,
                                 .counted_targets = Operand(DType::f64, Shape{1}, {counted})});
      expect_within(
          losses, want.losses, [&](std::size_t r) { return ids[r] < 0 ? 0.0 : relative; }, "losses");
      Values dlogits;
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        const auto row = slice(want.dlogits, r * shape.width + part.begin, part.size);
        dlogits.insert(dlogits.end(), row.begin(), row.end());
      }
      expect_within(
          columns[oracle::index(rank)], dlogits,
          [&](std::size_t i) {
            const bool none = ids[i / oracle::index(part.size)] < 0;
            return none ? 0.0 : relative * std::abs(dlogits[i]) + relative * 1e-9;
          },
          "dlogits");
    }
  }
}

// Rows of equal logits give equal statistics, except for the target's; nothing is reported as outside the vocabulary.
TEST_P(Vocabulary, ARowWithoutATargetGivesTheStatisticsOfItsLogits) {
  auto values = random_operand(GetParam(), Shape{1, 100}, 1, 10.0).values();
  values.insert(values.end(), values.begin(), values.begin() + 100);
  const Operand statistics(DType::f32, Shape{kCrossEntropyStatistics, 2}, Values(6, 7.0));
  ops_->cross_entropy_part({.statistics_3N = statistics,
                            .logits_NV = Operand(GetParam(), Shape{2, 100}, values),
                            .targets_N = Operand(DType::i32, Shape{2}, {205, kNoTarget}),
                            .range = {.first = 200, .all = 300}});
  EXPECT_NO_THROW(ops_->read_f64(Operand(DType::f64, Shape{1})));
  const auto told = statistics.values();
  EXPECT_EQ(told[1], told[0]);
  EXPECT_EQ(told[3], told[2]);
  EXPECT_EQ(told[4], values[5]);
  EXPECT_EQ(told[5], 0.0);
}

TEST_P(Vocabulary, ATokenOutsideTheWholeVocabularyIsBadInput) {
  const Operand table(GetParam(), Shape{4, 8});
  const Operand x(GetParam(), Shape{2, 8});
  const Operand value(DType::f64, Shape{1});
  const Operand statistics(DType::f32, Shape{kCrossEntropyStatistics, 2});
  constexpr TokenRange kRange{.first = 4, .all = 10};
  const auto use = [&](double token) {
    const Operand tokens(DType::i32, Shape{2}, {3, token});
    ops_->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .range = kRange, .seq_len = 2});
    ops_->read_f64(value);
    ops_->cross_entropy_part({.statistics_3N = statistics,
                              .logits_NV = x.view().slice(0, Shape{2, 4}),
                              .targets_N = tokens,
                              .range = kRange});
    ops_->read_f64(value);
  };
  const auto make_one_hot = [&](double token) {
    const Operand tokens(DType::i32, Shape{2}, {3, token});
    ops_->one_hot({.rows_NV = x.view().slice(0, Shape{2, 4}), .tokens_N = tokens, .range = kRange});
    ops_->read_f64(value);
  };
  EXPECT_NO_THROW(make_one_hot(9.0));
  EXPECT_THROW(make_one_hot(10.0), BadInput);
  EXPECT_THROW(make_one_hot(-1.0), BadInput);
  EXPECT_NO_THROW(use(9.0));
  EXPECT_THROW(use(10.0), BadInput);
  EXPECT_THROW(use(-1.0), BadInput);
  const Operand tokens(DType::i32, Shape{2}, {3, 10});
  EXPECT_THROW(
      {
        ops_->cross_entropy_part({.statistics_3N = statistics,
                                  .logits_NV = x.view().slice(0, Shape{2, 4}),
                                  .targets_N = tokens,
                                  .range = kRange});
        ops_->read_f64(value);
      },
      BadInput);
  EXPECT_THROW(ops_->embedding_forward(
                   {.x_NM = x, .tokens_N = tokens, .table_VM = table, .range = {.first = 8, .all = 10}, .seq_len = 2}),
               LogicFault);
}

// In f32, in order, rounded once: so the bits are known.
TEST_P(Vocabulary, SumsOfPartsAreRoundedOnce) {
  for (const std::int64_t n : {1, 7, 1003, 4096}) {
    const std::int64_t count = 5;
    const auto parts = random_operand(GetParam(), Shape{count, n}, 1, 3.0);
    const Operand out(GetParam(), Shape{n});
    ops_->sum_parts(out, parts);
    const auto values = parts.values();
    Values want(oracle::index(n));
    for (std::int64_t i = 0; i < n; ++i) {
      float sum = static_cast<float>(values[oracle::index(i)]);
      for (std::int64_t part = 1; part < count; ++part) sum += static_cast<float>(values[oracle::index(part * n + i)]);
      want[oracle::index(i)] = static_cast<double>(sum);
    }
    EXPECT_EQ(out.values(), Operand(GetParam(), Shape{n}, want).values());
  }
}

}  // namespace
}  // namespace perfbench::engine
