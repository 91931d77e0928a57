#include <gtest/gtest.h>

#include "tests/engine/attention_problem.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::Operand;
using oracle::random_operand;
using oracle::Values;
using spec::AttentionKind;

// Lengths around the tiles (60 and 48 queries, 64 and 128 keys), heads that share keys, head_dim that does not fill
// registers.
const AttentionDims kCases[] = {
    {.batch = 1, .seq_len = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8},
    {.batch = 2, .seq_len = 7, .n_heads = 4, .n_kv_heads = 2, .head_dim = 5},
    {.batch = 1, .seq_len = 61, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16, .score_factor = 1.0F},
    {.batch = 2, .seq_len = 64, .n_heads = 3, .n_kv_heads = 1, .head_dim = 64},
    {.batch = 1, .seq_len = 129, .n_heads = 4, .n_kv_heads = 4, .head_dim = 40},
    {.batch = 1, .seq_len = 257, .n_heads = 2, .n_kv_heads = 1, .head_dim = 128},
    {.batch = 1, .seq_len = 300, .n_heads = 3, .n_kv_heads = 3, .head_dim = 24},
    {.batch = 1, .seq_len = 70, .n_heads = 4, .n_kv_heads = 2, .head_dim = 136},
    {.batch = 2, .seq_len = 35, .n_heads = 2, .n_kv_heads = 1, .head_dim = 256},
};

// Also tiles for a head_dim above 128, which have fewer queries.
const AttentionDims kBiasedCases[] = {
    {.batch = 1, .seq_len = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8},
    {.batch = 2, .seq_len = 7, .n_heads = 4, .n_kv_heads = 2, .head_dim = 5},
    {.batch = 2, .seq_len = 61, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16, .score_factor = 1.0F},
    {.batch = 1, .seq_len = 64, .n_heads = 3, .n_kv_heads = 1, .head_dim = 64},
    {.batch = 1, .seq_len = 257, .n_heads = 2, .n_kv_heads = 1, .head_dim = 24},
    {.batch = 2, .seq_len = 70, .n_heads = 4, .n_kv_heads = 2, .head_dim = 136},
};

// The outputs and scratch of a backward pass have old contents, which must not matter.
AttentionProblem used_problem(DType dtype, const AttentionDims& dims, ScoreBias bias = ScoreBias::none,
                              const DocumentLengths& documents = {}) {
  AttentionProblem p(dtype, dims, bias, documents);
  p.dweights = random_operand(dtype, p.scores(), 5);
  p.dquery = random_operand(dtype, p.rows(dims.n_heads), 6);
  p.dkey = random_operand(dtype, p.rows(dims.n_kv_heads), 7);
  p.dvalue = random_operand(dtype, p.rows(dims.n_kv_heads), 8);
  p.dbias = random_operand(DType::f32, p.dbias.view().shape, 10);
  return p;
}

// The relative error of a probability. A score of magnitude S (sum of |q||k| scaled, and |bias|) errs by (gamma_D + 4u)
// S: the product, the scale, the bias, and the change to base 2. exp turns an absolute error of its argument into a
// relative one, once for the probability and once for the sum that divides it. The argument's size (at most 2S after
// subtracting the maximum) contributes 2u of itself; exp2 errs by 2^-22.5 < 3u, twice; and the sum of T terms by
// gamma_T.
double probability_error(const AttentionDims& dims, double score_magnitude) {
  return 2.0 * (oracle::gamma(static_cast<double>(dims.head_dim) + 4) + 4.0 * oracle::kUnitF32) * score_magnitude +
         oracle::gamma(static_cast<double>(dims.seq_len) + 16);
}

double largest(const Values& v) {
  double most = 0.0;
  for (const double x : v) most = std::max(most, std::abs(x));
  return most;
}

// In bf16, dot_product keeps rounded probabilities; so do the tiles of flash attention if tensor cores multiply them.
double storage_error(DType dtype, AttentionKind kind) {
  const bool rounded = kind == AttentionKind::dot_product || rounds_flash_weights();
  return dtype == DType::bf16 && rounded ? oracle::kUnitBf16 : 0.0;
}

void check_forward(Ops& ops, DType dtype, AttentionKind kind, const AttentionDims& dims, ScoreBias bias,
                   const DocumentLengths& documents = {}) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " T=" << dims.seq_len << " D=" << dims.head_dim
                                  << " kind=" << static_cast<int>(kind) << " bias=" << static_cast<int>(bias)
                                  << " documents=" << documents.size());
  const auto p = used_problem(dtype, dims, bias, documents);
  const auto want = oracle::attention_forward(p.query.values(), p.key.values(), p.value.values(), dims, p.rules());
  const double score = largest(want.score_magnitude);
  const double relative = probability_error(dims, score);
  ops.attention_forward(p.forward(kind));
  expect_within(
      p.context, want.context,
      [&](std::size_t i) {
        const double sum = oracle::gamma(static_cast<double>(dims.seq_len) + 1);
        return (relative + sum + storage_error(dtype, kind)) * want.context_magnitude[i];
      },
      "context");
  expect_within(
      p.logsumexp, want.logsumexp, [&](std::size_t) { return relative + 4.0 * oracle::kUnitF32 * score; }, "logsumexp");
  if (kind == AttentionKind::dot_product) {
    expect_within(
        p.weights, want.weights, [&](std::size_t i) { return relative * want.weights[i]; }, "weights");
  }
}

// Every gradient is a sum of products of a probability error with at most four nested sums (dweight over D, the mean
// over T, the gradient over T or D); the magnitudes add up the absolute values of all their terms. In bf16 the context
// that flash attention reads is rounded, and so are the score gradients that dot_product stores.
void check_backward(Ops& ops, DType dtype, AttentionKind kind, const AttentionDims& dims, ScoreBias bias,
                    const DocumentLengths& documents = {}) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " T=" << dims.seq_len << " D=" << dims.head_dim
                                  << " kind=" << static_cast<int>(kind) << " bias=" << static_cast<int>(bias)
                                  << " documents=" << documents.size());
  const auto p = used_problem(dtype, dims, bias, documents);
  const auto forward = oracle::attention_forward(p.query.values(), p.key.values(), p.value.values(), dims, p.rules());
  const auto want = oracle::attention_backward(p.dcontext.values(), p.query.values(), p.key.values(), p.value.values(),
                                               dims, p.rules());
  ops.attention_forward(p.forward(kind));
  ops.attention_backward(p.backward(kind));
  const double group = static_cast<double>(dims.n_heads / dims.n_kv_heads);
  const double sums =
      oracle::gamma(2.0 * static_cast<double>(dims.head_dim) + (1.0 + group) * static_cast<double>(dims.seq_len) + 16);
  const double relative = 2.0 * probability_error(dims, largest(forward.score_magnitude)) + sums +
                          2.0 * storage_error(dtype, kind) + (dtype == DType::bf16 ? oracle::kUnitBf16 : 0.0);
  const auto bound = [&](const oracle::WithMagnitude& g) {
    return [&, relative](std::size_t i) { return relative * g.magnitude[i]; };
  };
  expect_within(p.dquery, want.dquery.value, bound(want.dquery), "dquery");
  expect_within(p.dkey, want.dkey.value, bound(want.dkey), "dkey");
  expect_within(p.dvalue, want.dvalue.value, bound(want.dvalue), "dvalue");
  if (bias == ScoreBias::by_distance) expect_within(p.dbias, want.dbias.value, bound(want.dbias), "dbias");
}

class Attention : public OpsTest, public testing::WithParamInterface<std::tuple<DType, AttentionKind>> {};
class AttentionKinds : public OpsTest {};

TEST_P(Attention, ForwardEqualsTheOracle) {
  const auto [dtype, kind] = GetParam();
  for (const auto& dims : kCases) check_forward(*ops_, dtype, kind, dims, ScoreBias::none);
  for (const auto& dims : kBiasedCases) check_forward(*ops_, dtype, kind, dims, ScoreBias::by_distance);
}

TEST_P(Attention, BackwardEqualsTheOracle) {
  const auto [dtype, kind] = GetParam();
  for (const auto& dims : kCases) check_backward(*ops_, dtype, kind, dims, ScoreBias::none);
  for (const auto& dims : kBiasedCases) check_backward(*ops_, dtype, kind, dims, ScoreBias::by_distance);
}

// Documents of one token, of a part of a tile and of more than a tile: so there are tiles of keys that no query of a
// tile sees, that some see, and that some see in part.
const DocumentLengths kDocuments = {1, 3, 60, 1, 17, 130, 2};

TEST_P(Attention, ForwardOfDocumentsInARowEqualsTheOracle) {
  const auto [dtype, kind] = GetParam();
  for (const auto& dims : kCases) check_forward(*ops_, dtype, kind, dims, ScoreBias::none, kDocuments);
  for (const auto& dims : kBiasedCases) check_forward(*ops_, dtype, kind, dims, ScoreBias::by_distance, kDocuments);
}

TEST_P(Attention, BackwardOfDocumentsInARowEqualsTheOracle) {
  const auto [dtype, kind] = GetParam();
  for (const auto& dims : kCases) check_backward(*ops_, dtype, kind, dims, ScoreBias::none, kDocuments);
  for (const auto& dims : kBiasedCases) check_backward(*ops_, dtype, kind, dims, ScoreBias::by_distance, kDocuments);
}

// The contents of other documents must not matter, not even as zero times something.
TEST_P(Attention, OtherDocumentsChangeNoBit) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 1, .seq_len = 300, .n_heads = 2, .n_kv_heads = 1, .head_dim = 16};
  const DocumentLengths lengths{100, 45, 155};
  const auto clean = used_problem(dtype, dims, ScoreBias::none, lengths);
  auto other = used_problem(dtype, dims, ScoreBias::none, lengths);
  for (auto* const operand : {&other.query, &other.key, &other.value, &other.dcontext}) {
    auto values = operand->values();
    const std::size_t width = values.size() / 300;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i / width < 100 || i / width >= 145) values[i] = 1e30;
    }
    operand->set(values);
  }
  for (const auto* const p : {&clean, static_cast<const AttentionProblem*>(&other)}) {
    ops_->attention_forward(p->forward(kind));
    ops_->attention_backward(p->backward(kind));
  }
  const auto same = [](const oracle::Operand& a, const oracle::Operand& b) {
    const auto x = a.values();
    const auto y = b.values();
    const std::size_t width = x.size() / 300;
    for (std::size_t i = 100 * width; i < 145 * width; ++i) ASSERT_EQ(x[i], y[i]) << i / width;
  };
  same(clean.context, other.context);
  same(clean.dquery, other.dquery);
  same(clean.dkey, other.dkey);
  same(clean.dvalue, other.dvalue);
}

// A bias that falls with every token by more than scores differ: a query sees only itself, exactly, and the gradient of
// its scores is a number minus itself.
TEST_P(Attention, ABiasMayHideAllOtherKeys) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 2, .seq_len = 130, .n_heads = 3, .n_kv_heads = 3, .head_dim = 8};
  auto p = used_problem(dtype, dims, ScoreBias::by_distance);
  auto bias = p.bias.values();
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = -1e6 * static_cast<double>(i % 130);
  p.bias.set(bias);
  ops_->attention_forward(p.forward(kind));
  ops_->attention_backward(p.backward(kind));
  EXPECT_EQ(p.context.values(), p.value.values());
  EXPECT_EQ(p.dvalue.values(), p.dcontext.values());
  for (const double x : p.dbias.values()) ASSERT_EQ(x, 0.0);
}

TEST_P(Attention, KeysAfterAQueryDoNotChangeIt) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 1, .seq_len = 70, .n_heads = 2, .n_kv_heads = 1, .head_dim = 16};
  auto p = used_problem(dtype, dims);
  ops_->attention_forward(p.forward(kind));
  const auto before = p.context.values();
  auto key = p.key.values();
  auto value = p.value.values();
  for (std::size_t i = 69 * 16; i < 70 * 16; ++i) key[i] = value[i] = 100.0;
  p.key.set(key);
  p.value.set(value);
  ops_->attention_forward(p.forward(kind));
  const auto after = p.context.values();
  for (std::size_t i = 0; i < 69 * 32; ++i) ASSERT_EQ(before[i], after[i]) << i;
  EXPECT_NE(before[69 * 32], after[69 * 32]);
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 1, .seq_len = 130, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8};
  auto p = used_problem(dtype, dims);
  auto query = p.query.values();
  for (auto& q : query) q = oracle::rounded_to(dtype, q * 200.0);
  p.query.set(query);
  ops_->attention_forward(p.forward(kind));
  ops_->attention_backward(p.backward(kind));
  for (const auto* out : {&p.context, &p.logsumexp, &p.dquery, &p.dkey, &p.dvalue}) {
    for (const double x : out->values()) ASSERT_TRUE(std::isfinite(x));
  }
}

// Scores of about 1e9, far apart: each query sees exactly one key. Two coordinates make them: one that distinguishes
// the keys, and one that adds the same to all and makes every score inexact. However values are rounded, every softmax
// is one-hot: a probability is exactly 1 or 0. The gradient of its scores is then exactly 0, a sum minus itself. From
// the bound of check_backward only the sums of dvalue remain, and the rounding of what is stored in bf16.
TEST_P(Attention, HugeScoresHaveTheGradientsOfTheKeyThatIsSeen) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 1, .seq_len = 125, .n_heads = 2, .n_kv_heads = 1, .head_dim = 24};
  auto p = used_problem(dtype, dims);
  Values query(p.query.values().size(), 0.0);
  Values key(p.key.values().size(), 0.0);
  for (std::int64_t r = 0; r < dims.seq_len; ++r) {
    // 47 and 125 have no common divisor: every key has a different place, and the best so far changes now and then.
    const auto at = static_cast<std::size_t>(r * dims.head_dim);
    key[at] = static_cast<double>(r * 47 % 125 - 62) / 64.0;
    key[at + 1] = 0x1p-12;
    for (std::int64_t h = 0; h < dims.n_heads; ++h) {
      const auto row = static_cast<std::size_t>((r * dims.n_heads + h) * dims.head_dim);
      query[row] = static_cast<double>(128 + r) * (h == 0 ? 0x1p25 : -0x1p25);
      query[row + 1] = static_cast<double>(255 - r) * 0x1p25;
    }
  }
  p.query.set(query);
  p.key.set(key);
  const auto want =
      oracle::attention_backward(p.dcontext.values(), p.query.values(), p.key.values(), p.value.values(), dims);
  ops_->attention_forward(p.forward(kind));
  ops_->attention_backward(p.backward(kind));
  const double relative = oracle::gamma(2.0 * 24 + 3.0 * 125 + 16) + 2.0 * storage_error(dtype, kind) +
                          (dtype == DType::bf16 ? oracle::kUnitBf16 : 0.0);
  const auto nothing = [](std::size_t) { return 0.0; };
  expect_within(p.dquery, want.dquery.value, nothing, "dquery");
  expect_within(p.dkey, want.dkey.value, nothing, "dkey");
  expect_within(
      p.dvalue, want.dvalue.value, [&](std::size_t i) { return relative * want.dvalue.magnitude[i]; }, "dvalue");
}

TEST_P(Attention, ANanInAQueryReachesItsContext) {
  const auto [dtype, kind] = GetParam();
  const AttentionDims dims{.batch = 1, .seq_len = 70, .n_heads = 1, .n_kv_heads = 1, .head_dim = 16};
  auto p = used_problem(dtype, dims);
  if (dtype == DType::f32) p.query.view().as<float>()[65 * 16] = NAN;
  if (dtype == DType::bf16) p.query.view().as<std::uint16_t>()[65 * 16] = 0x7FC0;
  ops_->attention_forward(p.forward(kind));
  EXPECT_TRUE(std::isnan(p.context.values()[65 * 16]));
  EXPECT_FALSE(std::isnan(p.context.values()[64 * 16]));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Attention,
                         testing::Combine(testing::Values(DType::f32, DType::bf16),
                                          testing::Values(AttentionKind::flash, AttentionKind::dot_product)),
                         [](const auto& name) {
                           return std::string(dtype_name(std::get<0>(name.param))) +
                                  (std::get<1>(name.param) == AttentionKind::flash ? "Flash" : "DotProduct");
                         });

// Both err from the exact value by at most the forward bound, so they differ by at most twice that.
TEST_F(AttentionKinds, FlashEqualsDotProduct) {
  const AttentionDims dims{.batch = 2, .seq_len = 200, .n_heads = 4, .n_kv_heads = 2, .head_dim = 64};
  const auto flash = used_problem(DType::f32, dims);
  const auto full = used_problem(DType::f32, dims);
  const auto truth = oracle::attention_forward(flash.query.values(), flash.key.values(), flash.value.values(), dims);
  const double relative =
      2.0 * (probability_error(dims, largest(truth.score_magnitude)) + oracle::gamma(201) + oracle::kUnitF32);
  ops_->attention_forward(flash.forward(AttentionKind::flash));
  ops_->attention_forward(full.forward(AttentionKind::dot_product));
  expect_within(
      flash.context, full.context.values(), [&](std::size_t i) { return relative * truth.context_magnitude[i]; },
      "context");
}

}  // namespace
}  // namespace perfbench::engine
