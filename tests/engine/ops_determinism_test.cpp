// The same inputs give the same bits: in every call, and in every circumstance of the backend (threads; for products
// only with equal numbers of them).
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "tests/engine/attention_problem.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/operand.h"

namespace perfbench::engine {
namespace {

using oracle::Operand;
using oracle::random_ids;
using oracle::random_operand;

using Bytes = std::vector<unsigned char>;

Bytes joined(std::initializer_list<const Operand*> operands) {
  Bytes all;
  for (const auto* operand : operands) {
    const auto bytes = operand->bytes();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// `run` initialises its outputs, computes, and returns them.
void expect_same_bits(Ops& ops, const std::function<Bytes(Ops&)>& run) {
  std::optional<Bytes> first;
  in_every_circumstance([&](const std::string& circumstance) {
    const Bytes bytes = run(ops);
    if (!first) first = bytes;
    EXPECT_TRUE(bytes == *first) << circumstance;
  });
}

void expect_same_bits_of_products(Ops& ops, const std::function<Bytes(Ops&)>& run) {
  std::map<std::string, Bytes> first;
  in_circumstances_of_products([&](const std::string& circumstance) {
    const Bytes bytes = run(ops);
    EXPECT_TRUE(bytes == first.try_emplace(circumstance, bytes).first->second) << circumstance;
  });
}

// Large enough that every operation divides its work among three threads.
constexpr std::int64_t kRows = 192;
constexpr std::int64_t kWidth = 520;

class Determinism : public OpsTest, public testing::WithParamInterface<DType> {
 protected:
  DType dtype_ = GetParam();
  Operand random(Shape shape, unsigned seed) const { return random_operand(dtype_, shape, seed); }
};
INSTANTIATE_TEST_SUITE_P(Storage, Determinism, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

TEST_P(Determinism, MatmulOfEveryTransposition) {
  for (const auto ta : {Transpose::no, Transpose::yes}) {
    for (const auto tb : {Transpose::no, Transpose::yes}) {
      // A long sum could be divided among threads; a short one is not.
      for (const std::int64_t k : {64, 1500}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(ta) << static_cast<int>(tb) << " k=" << k);
        constexpr std::int64_t kColumns = 200;
        const auto a = random(ta == Transpose::yes ? Shape{k, kRows} : Shape{kRows, k}, 1);
        const auto b = random(tb == Transpose::yes ? Shape{kColumns, k} : Shape{k, kColumns}, 2);
        expect_same_bits_of_products(*ops_, [&](Ops& ops) {
          const auto c = random_operand(DType::f32, Shape{kRows, kColumns}, 3);
          ops.matmul({.a = a, .b = b, .c = c, .transpose_a = ta, .transpose_b = tb, .write = Write::accumulate});
          return joined({&c});
        });
      }
    }
  }
}

TEST_P(Determinism, Norm) {
  for (const auto kind : {spec::NormKind::rmsnorm, spec::NormKind::layernorm}) {
    expect_same_bits(*ops_, [&](Ops& ops) {
      const auto x = random({kRows, kWidth}, 1), dy = random({kRows, kWidth}, 2);
      const auto weight = random({kWidth}, 3);
      const Operand y(dtype_, Shape{kRows, kWidth}), dx(dtype_, Shape{kRows, kWidth});
      const Operand statistics(DType::f32, Shape{kind == spec::NormKind::layernorm ? 2 : 1, kRows});
      const auto dweight = random_operand(DType::f32, Shape{kWidth}, 4),
                 dbias = random_operand(DType::f32, {kWidth}, 5);
      ops.norm_forward(
          {.y_NM = y, .statistics = statistics, .x_NM = x, .weight_M = weight, .bias_M = {}, .kind = kind});
      ops.norm_backward({.dx_NM = dx,
                         .dweight_M = dweight,
                         .dbias_M = dbias,
                         .dy_NM = dy,
                         .x_NM = x,
                         .statistics = statistics,
                         .weight_M = weight,
                         .kind = kind});
      return joined({&y, &statistics, &dx, &dweight, &dbias});
    });
  }
}

TEST_P(Determinism, Attention) {
  for (const std::int64_t kv_heads : {1, 4}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      for (const auto& [bias, documents] : {std::pair{ScoreBias::none, DocumentLengths{}},
                                            {ScoreBias::by_distance, {}},
                                            {ScoreBias::none, {70, 1, 40}}}) {
        SCOPED_TRACE(testing::Message() << kv_heads << " kv heads, kind " << static_cast<int>(kind) << ", bias "
                                        << static_cast<int>(bias) << ", documents " << documents.size());
        expect_same_bits(*ops_, [&, of_scores = bias, &in_rows = documents](Ops& ops) {
          const AttentionProblem p(dtype_,
                                   {.batch = 1, .seq_len = 200, .n_heads = 4, .n_kv_heads = kv_heads, .head_dim = 24},
                                   of_scores, in_rows);
          ops.attention_forward(p.forward(kind));
          ops.attention_backward(p.backward(kind));
          return joined({&p.context, &p.logsumexp, &p.dquery, &p.dkey, &p.dvalue, &p.dbias, &p.weights});
        });
      }
    }
  }
}

TEST_P(Determinism, RelativeBias) {
  expect_same_bits(*ops_, [&](Ops& ops) {
    const auto table = random({32, 24}, 1), dbias = random_operand(DType::f32, {3, 24, 700}, 2);
    const auto dtable = random_operand(DType::f32, {32, 24}, 3);
    const auto buckets = random_ids({700}, 32, 4);
    const Operand bias(DType::f32, Shape{24, 700});
    ops.relative_bias_forward({.bias_HT = bias, .table_UH = table, .buckets_T = buckets});
    ops.relative_bias_backward({.dtable_UH = dtable, .dbias_BHT = dbias, .buckets_T = buckets});
    return joined({&bias, &dtable});
  });
}

TEST_P(Determinism, RowsAndElements) {
  expect_same_bits(*ops_, [&](Ops& ops) {
    const auto x = random({kRows, kWidth}, 1), y = random({kRows, kWidth}, 2), gate = random({kRows, kWidth}, 3);
    const auto table = random_operand(DType::f32, Shape{kRows, 8}, 4), dbias = random_operand(DType::f32, {kWidth}, 5);
    const Operand product(dtype_, Shape{kRows, kWidth}), losses(DType::f32, Shape{kRows});
    const Operand total(DType::f64, Shape{1}), other(DType::f64, Shape{1}), step(DType::i32, Shape{1}, {2.0});
    ops.rope({.x = x, .cos_sin_TD = table, .head_dim = 8});
    ops.activation_forward({.product_NF = product, .gate_NF = gate, .up_NF = x});
    ops.activation_backward({.gate_NF = gate, .up_NF = x, .dproduct_NF = y});
    ops.add(x, x, product);
    ops.dropout({.out_RM = x, .x_RM = x, .step = step, .stream = "w", .rate = 0.1});
    ops.bias_backward(dbias, x, Write::accumulate);
    ops.cross_entropy({.losses_N = losses, .logits_NV = y, .targets_N = random_ids({kRows}, kWidth, 6)});
    ops.sum(total, x, Write::overwrite);
    const std::array<TensorView, 2> squared{x, y};
    ops.sum_of_squares(other, squared, Write::overwrite);
    return joined({&x, &y, &gate, &product, &dbias, &losses, &total, &other});
  });
}

TEST_P(Determinism, Embedding) {
  expect_same_bits(*ops_, [&](Ops& ops) {
    const auto tokens = random_ids({kRows}, 7, 1);
    const auto dx = random({kRows, kWidth}, 2), table = random({7, kWidth}, 3), position = random({96, kWidth}, 4);
    const auto dtable = random_operand(DType::f32, {7, kWidth}, 5),
               dposition = random_operand(DType::f32, {96, kWidth}, 6);
    const Operand x(dtype_, Shape{kRows, kWidth});
    ops.embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .position_TM = position, .seq_len = 96});
    ops.embedding_backward(
        {.dtable_VM = dtable, .dposition_TM = dposition, .dx_NM = dx, .tokens_N = tokens, .seq_len = 96});
    return joined({&x, &dtable, &dposition});
  });
}

class DeterminismF32 : public OpsTest {};

TEST_F(DeterminismF32, AdamwAndNormals) {
  expect_same_bits(*ops_, [](Ops& ops) {
    const Shape shape{100003};
    const auto g = random_operand(DType::f32, shape, 1), w = random_operand(DType::f32, shape, 2);
    const Operand m(DType::f32, shape, oracle::Values(100003)), v(DType::f32, shape, oracle::Values(100003));
    const Operand normals(DType::f32, shape);
    const Operand factors(DType::f64, Shape{kAdamwFactors}, {0.1, 1.0, 1.0, 1.0});
    const AdamwTensor tensor{.weight = w, .gradient = g, .first_moment = m, .second_moment = v};
    ops.adamw({.tensors = {&tensor, 1}, .factors = factors});
    ops.fill_normal({.out = normals, .seed = 1, .stream = "w"});
    return joined({&w, &m, &v, &normals});
  });
}

}  // namespace
}  // namespace perfbench::engine
