// Operations on rows that lie within wider ones give the same results as on dense rows, and write nothing beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/attention_problem.h"
#include "tests/engine/matmul_cases.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::Operand;
using oracle::random_operand;
using oracle::Values;

// The number of elements before and behind a row: so that no vectors of a kernel fit, all of them, or only those of the
// first row.
struct Margins {
  std::int64_t before;
  std::int64_t behind;
};
constexpr Margins kMargins[] = {{3, 2}, {16, 32}, {16, 3}};
constexpr double kBeside = 96.0;  // exact in bf16

// The rows of a dense operand within wider ones.
class Apart {
 public:
  Apart(const Operand& dense, const Margins& margins)
      : margins_(margins),
        rows_(dense.view().shape[0]),
        columns_(dense.view().shape[1]),
        wide_(dense.dtype(), {rows_, columns_ + margins.before + margins.behind}) {
    const Values from = dense.values();
    Values values(wide_.size(), kBeside);
    for (std::size_t i = 0; i < from.size(); ++i) values[place(i)] = from[i];
    wide_.set(values);
  }
  RowsView rows() const { return RowsView(wide_.view()).columns(margins_.before, columns_); }

  void expect_values(const Values& want, const char* what) const {
    const Values found = wide_.values();
    std::vector<bool> beside(found.size(), true);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(found[place(i)], want[i]) << what << " at " << i;
      beside[place(i)] = false;
    }
    expect_untouched(found, beside, what);
  }
  // The contents of the rows, dense.
  Operand dense(const char* what) const {
    const Values found = wide_.values();
    std::vector<bool> beside(found.size(), true);
    Values own(static_cast<std::size_t>(rows_ * columns_));
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = found[place(i)];
      beside[place(i)] = false;
    }
    expect_untouched(found, beside, what);
    return {wide_.dtype(), {rows_, columns_}, own};
  }

 private:
  std::size_t place(std::size_t i) const {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t stride = columns_ + margins_.before + margins_.behind;
    return static_cast<std::size_t>(at / columns_ * stride + margins_.before + at % columns_);
  }
  static void expect_untouched(const Values& found, const std::vector<bool>& beside, const char* what) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!beside[i]) continue;
      EXPECT_EQ(found[i], kBeside) << what << ": beside the rows, at " << i;
    }
  }

  Margins margins_;
  std::int64_t rows_;
  std::int64_t columns_;
  Operand wide_;
};

class RowsApart : public OpsTest {
 protected:
  // f(dtype, margins)
  template <class F>
  static void in_every_case(F&& f) {
    for (const auto dtype : {DType::f32, DType::bf16}) {
      for (const auto& margins : kMargins) {
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", margins " << margins.before);
        f(dtype, margins);
      }
    }
  }
};

TEST_F(RowsApart, RopeChangesOnlyThem) {
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const auto layout : {spec::RopeLayout::half, spec::RopeLayout::interleaved}) {
      for (const std::int64_t head_dim : {6, 16}) {
        const auto x = random_operand(dtype, {10, 3 * head_dim}, 1);
        const auto table = random_operand(DType::f32, {5, head_dim}, 2);
        const Apart apart(x, margins);
        for (const RowsView& rows : {RowsView(x), apart.rows()}) {
          ops_->rope({.x = rows, .cos_sin_TD = table, .head_dim = head_dim, .layout = layout});
        }
        apart.expect_values(x.values(), "x");
      }
    }
  });
}

// The heads of each token are adjacent rows, but tokens are apart; the gradient overwrites dy.
TEST_F(RowsApart, NormsOfHeadsReadThemAndTheirGradientTakesItsPlace) {
  constexpr std::int64_t n = 9, of_heads = 3;
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const std::int64_t width : {5, 16}) {
      const Shape heads{n * of_heads, width};
      const auto x = random_operand(dtype, {n, of_heads * width}, 1);
      const auto dy = random_operand(dtype, {n, of_heads * width}, 2);
      const auto weight = random_operand(dtype, {width}, 3);
      const Apart x_apart(x, margins), d_apart(dy, margins);
      const Operand y(dtype, heads), y_apart(dtype, heads), y_again(dtype, heads);
      const Operand statistics(DType::f32, {1, heads[0]}), statistics_apart(DType::f32, {1, heads[0]});
      const RowsView rows = x_apart.rows().split(width);
      ops_->norm_forward({.y_NM = y, .statistics = statistics, .x_NM = x.view().reshaped(heads), .weight_M = weight});
      ops_->norm_forward({.y_NM = y_apart, .statistics = statistics_apart, .x_NM = rows, .weight_M = weight});
      ops_->norm_apply({.y_NM = y_again, .statistics = statistics_apart, .x_NM = rows, .weight_M = weight});
      EXPECT_EQ(y_apart.bytes(), y.bytes());
      EXPECT_EQ(y_again.bytes(), y.bytes());
      EXPECT_EQ(statistics_apart.bytes(), statistics.bytes());
      const Operand dx(dtype, heads), dweight(DType::f32, {width}), dweight_apart(DType::f32, {width});
      ops_->norm_backward({.dx_NM = dx,
                           .dweight_M = dweight,
                           .dy_NM = dy.view().reshaped(heads),
                           .x_NM = x.view().reshaped(heads),
                           .statistics = statistics,
                           .weight_M = weight});
      const RowsView d = d_apart.rows().split(width);
      ops_->norm_backward({.dx_NM = d,
                           .dweight_M = dweight_apart,
                           .dy_NM = d,
                           .x_NM = rows,
                           .statistics = statistics,
                           .weight_M = weight});
      d_apart.expect_values(dx.values(), "dx");
      EXPECT_EQ(dweight_apart.bytes(), dweight.bytes());
    }
  });
}

// Rows too wide for the registers of a block, which are read again from memory.
TEST_F(RowsApart, TheGradientOfAWideNormTakesThePlaceOfDy) {
  const Shape shape{2, 16 * 1024 + 24};
  const auto x = random_operand(DType::f32, shape, 1), dy = random_operand(DType::f32, shape, 2);
  const auto weight = random_operand(DType::f32, {shape[1]}, 3);
  const Operand y(DType::f32, shape), statistics(DType::f32, {1, shape[0]}), dx(DType::f32, shape);
  ops_->norm_forward({.y_NM = y, .statistics = statistics, .x_NM = x, .weight_M = weight});
  for (const auto& to : {RowsView(dx), RowsView(dy)}) {
    ops_->norm_backward({.dx_NM = to, .dy_NM = dy, .x_NM = x, .statistics = statistics, .weight_M = weight});
  }
  EXPECT_EQ(dy.bytes(), dx.bytes());
}

TEST_F(RowsApart, ActivationsReadGateAndUpAndLeaveTheirGradients) {
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const std::int64_t width : {7, 24}) {
      for (const auto kind : {spec::Activation::swiglu, spec::Activation::gelu}) {
        const Shape shape{11, width};
        const auto gate = random_operand(dtype, shape, 1), up = random_operand(dtype, shape, 2);
        const auto dproduct = random_operand(dtype, shape, 3);
        const Apart gate_apart(gate, margins), up_apart(up, margins);
        const bool gated = spec::is_gated(kind);
        const RowsView gates = gated ? RowsView(gate) : RowsView();
        const RowsView gates_apart = gated ? gate_apart.rows() : RowsView();
        const Operand product(dtype, shape), product_apart(dtype, shape);
        ops_->activation_forward({.product_NF = product, .gate_NF = gates, .up_NF = up, .kind = kind});
        ops_->activation_forward(
            {.product_NF = product_apart, .gate_NF = gates_apart, .up_NF = up_apart.rows(), .kind = kind});
        EXPECT_EQ(product_apart.bytes(), product.bytes());
        ops_->activation_backward({.gate_NF = gates, .up_NF = up, .dproduct_NF = dproduct, .kind = kind});
        ops_->activation_backward(
            {.gate_NF = gates_apart, .up_NF = up_apart.rows(), .dproduct_NF = dproduct, .kind = kind});
        gate_apart.expect_values(gate.values(), "gate");
        up_apart.expect_values(up.values(), "up");
      }
    }
  });
}

TEST_F(RowsApart, CrossEntropyReadsThemAndTheirGradientsTakeTheirPlace) {
  constexpr std::int64_t kTokens = 5;
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const std::int64_t width : {7, 48, 1203}) {
      const auto logits = random_operand(dtype, {kTokens, width}, 1, 4.0);
      const Operand targets(DType::i32, {kTokens}, {0, static_cast<double>(width - 1), -1, 3, 5});
      const Apart apart(logits, margins);
      const Operand losses(DType::f32, {kTokens}), losses_apart(DType::f32, {kTokens});
      const auto compute = [&](const RowsView& rows, const Operand& losses_N) {
        ops_->cross_entropy({.losses_N = losses_N, .logits_NV = rows, .targets_N = targets, .gradient_scale = 0.5});
      };
      compute(logits, losses);
      compute(apart.rows(), losses_apart);
      EXPECT_EQ(losses_apart.bytes(), losses.bytes());
      apart.expect_values(logits.values(), "gradients");
    }
  });
}

// The part of a row that one of two ranks has.
TEST_F(RowsApart, PartsOfACrossEntropyDoToo) {
  constexpr std::int64_t kTokens = 4, kVocabulary = 59;
  struct Results {
    Operand statistics{DType::f32, {3, kTokens}}, others{DType::f32, {kTokens}}, losses{DType::f32, {kTokens}};
  };
  in_every_case([&](DType dtype, const Margins& margins) {
    const auto logits = random_operand(dtype, {kTokens, kVocabulary}, 1, 4.0);
    const Operand targets(DType::i32, {kTokens}, {kVocabulary, 2 * kVocabulary - 1, -1, 3});
    const TokenRange second{.first = kVocabulary, .all = 2 * kVocabulary};
    const Apart apart(logits, margins);
    const Results of_dense, of_apart;
    const auto compute = [&](const RowsView& rows, const Results& results) {
      ops_->cross_entropy_part({.statistics_3N = results.statistics,
                                .logits_NV = rows,
                                .targets_N = targets,
                                .range = second,
                                .others_N = results.others});
      ops_->cross_entropy_whole({.losses_N = results.losses,
                                 .logits_NV = rows,
                                 .statistics_R3N = results.statistics.view().reshaped(Shape{1, 3, kTokens}),
                                 .targets_N = targets,
                                 .range = second,
                                 .gradient_scale = 0.5});
    };
    compute(logits, of_dense);
    compute(apart.rows(), of_apart);
    EXPECT_EQ(of_apart.statistics.bytes(), of_dense.statistics.bytes());
    EXPECT_EQ(of_apart.others.bytes(), of_dense.others.bytes());
    EXPECT_EQ(of_apart.losses.bytes(), of_dense.losses.bytes());
    apart.expect_values(logits.values(), "gradients");
  });
}

TEST_F(RowsApart, BiasGradientsSumThem) {
  in_every_case([&](DType dtype, const Margins& margins) {
    const auto dy = random_operand(dtype, {70, 40}, 1);
    const Apart apart(dy, margins);
    const Operand dbias(DType::f32, {40}), dbias_apart(DType::f32, {40});
    ops_->bias_backward(dbias, dy, Write::overwrite);
    ops_->bias_backward(dbias_apart, apart.rows(), Write::overwrite);
    EXPECT_EQ(dbias_apart.bytes(), dbias.bytes());
  });
}

// Sums of at most seq_len + head_dim products, in two orders, relative to the largest result; in bf16 their inputs are
// rounded at most four times before, and the sums once.
void expect_near(const Operand& found, const Operand& want, const AttentionDims& dims, const char* what) {
  const double sums = 2 * oracle::gamma(static_cast<double>(dims.seq_len + dims.head_dim));
  const Values x = found.values(), y = want.values();
  double largest = 0;
  for (const double value : y) largest = std::max(largest, std::abs(value));
  const double most = largest * (want.dtype() == DType::f32 ? sums : sums + 5 * oracle::kUnitBf16);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(x[i], y[i], most) << what << " at " << i;
}

// Each has its own margin, as query, key and value in one row have.
TEST_F(RowsApart, AttentionReadsThemAndWritesTheirGradients) {
  const AttentionDims cases[] = {
      {.batch = 2, .seq_len = 7, .n_heads = 4, .n_kv_heads = 2, .head_dim = 5},
      {.batch = 2, .seq_len = 70, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16},
      {.batch = 1, .seq_len = 35, .n_heads = 2, .n_kv_heads = 2, .head_dim = 136},
  };
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const auto& dims : cases) {
      for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
        const AttentionProblem dense(dtype, dims), other(dtype, dims);
        const Margins wider{margins.before + 16, margins.behind};
        const Apart query(dense.query, margins), key(dense.key, wider), value(dense.value, {0, wider.behind});
        const Apart dquery(dense.dquery, margins), dkey(dense.dkey, wider), dvalue(dense.dvalue, wider);
        auto forward = other.forward(kind);
        auto backward = other.backward(kind);
        forward.query = backward.query = query.rows();
        forward.key = backward.key = key.rows();
        forward.value = backward.value = value.rows();
        backward.dquery = dquery.rows();
        backward.dkey = dkey.rows();
        backward.dvalue = dvalue.rows();
        ops_->attention_forward(dense.forward(kind));
        ops_->attention_backward(dense.backward(kind));
        ops_->attention_forward(forward);
        ops_->attention_backward(backward);
        if (kind == spec::AttentionKind::dot_product && !multiplies_rows_apart_alike()) {
          expect_near(other.context, dense.context, dims, "context");
          expect_near(other.logsumexp, dense.logsumexp, dims, "logsumexp");
          expect_near(dquery.dense("dquery"), dense.dquery, dims, "dquery");
          expect_near(dkey.dense("dkey"), dense.dkey, dims, "dkey");
          expect_near(dvalue.dense("dvalue"), dense.dvalue, dims, "dvalue");
          continue;
        }
        EXPECT_EQ(other.context.bytes(), dense.context.bytes());
        EXPECT_EQ(other.logsumexp.bytes(), dense.logsumexp.bytes());
        dquery.expect_values(dense.dquery.values(), "dquery");
        dkey.expect_values(dense.dkey.values(), "dkey");
        dvalue.expect_values(dense.dvalue.values(), "dvalue");
      }
    }
  });
}

// Compared with the oracle, because a library may use another kernel for another stride. The bounds are those of
// ops_matmul_test.cpp.
struct ProductApart {
  DType operands;
  DType result;
  oracle::ProductSize size;
  Transpose transpose_a = Transpose::no;
  Write write = Write::overwrite;
  bool bias = false;
};

void check_product(Ops& ops, const ProductApart& p, const Margins& margins) {
  const auto [m, n, k] = p.size;
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " -> " << dtype_name(p.result));
  const auto a = random_operand(p.operands, stored(m, k, p.transpose_a), 1);
  const auto b = random_operand(p.operands, {n, k}, 2);
  const auto c = random_operand(p.result, {m, n}, 3);
  const auto bias = random_operand(p.operands, {n}, 4);
  auto want = oracle::matmul(a.values(), p.transpose_a, b.values(), Transpose::yes, p.size);
  const Values extra = p.bias ? bias.values() : c.values();
  Values rounded_before(want.value.size());
  for (std::size_t i = 0; (p.bias || p.write == Write::accumulate) && i < want.value.size(); ++i) {
    rounded_before[i] = rounding_before_adding(p.result, want.value[i]);
    const double term = p.bias ? extra[i % static_cast<std::size_t>(n)] : extra[i];
    want.value[i] += term;
    want.magnitude[i] += std::abs(term);
  }
  const Apart a_apart(a, margins), c_apart(c, {margins.behind, margins.before});
  ops.matmul({.a = a_apart.rows(),
              .b = b,
              .c = c_apart.rows(),
              .transpose_a = p.transpose_a,
              .transpose_b = Transpose::yes,
              .write = p.write,
              .bias_n = p.bias ? bias.view() : TensorView{}});
  const double relative = oracle::gamma(static_cast<double>(k) + 1);
  oracle::expect_within(
      c_apart.dense("c"), want.value, [&](std::size_t i) { return relative * want.magnitude[i] + rounded_before[i]; },
      "product");
  a_apart.expect_values(a.values(), "a");
}

TEST_F(RowsApart, ProductsReadAndWriteThem) {
  in_every_case([&](DType dtype, const Margins& margins) {
    for (const auto& size : kSizes) {
      for (const auto result : {dtype, DType::f32}) {
        check_product(*ops_, ProductApart{dtype, result, size}, margins);
        check_product(*ops_, ProductApart{dtype, result, size, Transpose::yes}, margins);
        check_product(*ops_, ProductApart{dtype, result, size, Transpose::no, Write::accumulate}, margins);
        check_product(*ops_, ProductApart{dtype, result, size, Transpose::no, Write::overwrite, true}, margins);
      }
    }
  });
}

// The products for a vocabulary of 2051, large enough for the cuda backend to divide them (vector_parts.h): some rows
// of each compared with sums in f64. Bounds as above, with one more rounding of the value that is added to.
TEST_F(RowsApart, ProductsWithoutWholeVectorsAreComplete) {
  constexpr std::int64_t kTokens = 520, kVocabulary = 2051, kModel = 512;
  const Margins behind{0, 5};
  const auto x = random_operand(DType::bf16, {kTokens, kModel}, 1);
  const auto weight = random_operand(DType::bf16, {kVocabulary, kModel}, 2);
  const Apart logits(Operand(DType::bf16, {kTokens, kVocabulary}), behind);
  const auto gradient = random_operand(DType::bf16, {kTokens, kVocabulary}, 3);
  const Apart dlogits(gradient, behind);
  const Operand dweight(DType::f32, {kVocabulary, kModel}), dx(DType::bf16, {kTokens, kModel});
  ops_->matmul({.a = x, .b = weight, .c = logits.rows(), .transpose_b = Transpose::yes});
  ops_->matmul({.a = dlogits.rows(), .b = x, .c = dweight, .transpose_a = Transpose::yes});
  ops_->matmul({.a = dlogits.rows(), .b = weight, .c = dx});
  const auto check = [](const Operand& found, std::int64_t row, std::int64_t terms, auto&& left, auto&& right) {
    const Values values = found.values();
    const std::int64_t columns = found.view().shape[1];
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < terms; ++k) {
        const double term = left(row, k) * right(k, j);
        sum += term;
        magnitude += std::abs(term);
      }
      const double of_sum = oracle::gamma(static_cast<double>(terms) + 1) * magnitude;
      const double rounded = found.dtype() == DType::bf16 ? 2 * oracle::kUnitBf16 * (std::abs(sum) + of_sum) : 0.0;
      ASSERT_NEAR(values[oracle::index(row * columns + j)], sum, of_sum + rounded) << row << ", " << j;
    }
  };
  const auto at = [](const Operand& operand, std::int64_t columns) {
    return [values = operand.values(), columns](std::int64_t i, std::int64_t j) {
      return values[oracle::index(i * columns + j)];
    };
  };
  const auto turned = [](auto of) { return [of](std::int64_t i, std::int64_t j) { return of(j, i); }; };
  const auto xs = at(x, kModel), weights = at(weight, kModel), gradients = at(gradient, kVocabulary);
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{257}, kTokens - 1}) {
    check(logits.dense("logits"), row, kModel, xs, turned(weights));
    check(dx, row, kVocabulary, gradients, weights);
  }
  for (const std::int64_t row : {std::int64_t{0}, kVocabulary - 4, kVocabulary - 1}) {
    check(dweight, row, kTokens, turned(gradients), xs);
  }
}

TEST_F(RowsApart, AreRefusedByOperationsThatDoNotSupportThem) {
  const auto x = random_operand(DType::f32, {4, 8}, 1), table = random_operand(DType::f32, {2, 4}, 2);
  const Operand product(DType::f32, {4, 8}), preactivation(DType::f32, {4, 8}), weight(DType::f32, {8, 8});
  const Apart apart(x, kMargins[0]);
  EXPECT_THROW(
      ops_->matmul(
          {.a = x, .b = weight, .c = apart.rows(), .epilogue = Epilogue::gelu_tanh, .preactivation = preactivation}),
      LogicFault);
  const RowsView heads = apart.rows().split(4);  // at two different distances
  EXPECT_THROW(heads.columns(0, 2), LogicFault);
  EXPECT_THROW(heads.split(2), LogicFault);
  EXPECT_THROW(apart.rows().split(3), LogicFault);
  EXPECT_THROW(heads.dense(), LogicFault);
  EXPECT_THROW(ops_->rope({.x = heads, .cos_sin_TD = table, .head_dim = 4}), LogicFault);
  EXPECT_THROW(ops_->matmul({.a = heads, .b = weight, .c = product}), LogicFault);
  const Operand losses(DType::f32, {8}), targets(DType::i32, {8});
  EXPECT_THROW(ops_->cross_entropy({.losses_N = losses, .logits_NV = heads, .targets_N = targets}), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
