// Operations on rows and elements compared with their oracles.
#include <gtest/gtest.h>

#include <array>

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

class Rows : public OpsTest, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Storage, Rows, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

class Activation : public OpsTest {};
class Embedding : public OpsTest {};
class CrossEntropy : public OpsTest {};
class Readings : public OpsTest {};

// Narrow and wide rows, with and without whole vectors, and widths around those that a block of CUDA threads keeps in
// registers: 8192 and 16384 backward, 16384 of f32 and 32768 of bf16 forward.
constexpr RowsShape kShapes[] = {{1, 1},    {3, 5},    {2, 16},   {33, 17},   {70, 768},  {5, 1027}, {6, 1600},
                                 {2, 4096}, {2, 8192}, {2, 8203}, {1, 16384}, {3, 16385}, {1, 32776}};
constexpr double kEps = 1e-5;

struct NormCase {
  DType dtype;
  DType weights;
  RowsShape shape;
  spec::NormKind kind;
};

// The mean errs by gamma_M of the mean magnitude; the squares' sum by gamma_M of itself and by twice the mean's error;
// its root halves that; then there are four operations. Magnitudes use |x| + |mean| for |x - mean|.
void check_norm_forward(Ops& ops, const NormCase& c) {
  const auto [n, m] = c.shape;
  const bool centred = c.kind == spec::NormKind::layernorm;
  const auto x = random_operand(c.dtype, Shape{n, m}, 1, 0.5);
  const auto weight = random_operand(c.weights, Shape{m}, 2);
  const auto bias = random_operand(c.weights, Shape{m}, 3);
  const Operand y(c.dtype, Shape{n, m});
  const Operand statistics(DType::f32, Shape{centred ? 2 : 1, n});
  const NormForwardArgs args{.y_NM = y,
                             .statistics = statistics,
                             .x_NM = x,
                             .weight_M = weight,
                             .bias_M = centred ? bias.view() : TensorView{},
                             .kind = c.kind,
                             .eps = kEps};
  ops.norm_forward(args);
  const auto want =
      oracle::norm_forward(x.values(), weight.values(), centred ? bias.values() : Values{}, c.shape, c.kind, kEps);
  const auto xs = x.values();
  const auto ws = weight.values();
  const auto bs = bias.values();
  const double relative = 2.0 * gamma(static_cast<double>(m) + 8);
  const std::size_t width = oracle::index(m);
  const auto row_of = [&](std::size_t i) { return i / width; };
  // The variance of a row of few elements may be far below the squares of its values: errors grow by that ratio.
  Values condition(oracle::index(n));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double r = want.rstd[row_of(i)];
    const double size = std::abs(xs[i]) + std::abs(want.mean[row_of(i)]);
    condition[row_of(i)] += size * size * r * r / static_cast<double>(m);
  }
  expect_within(
      y, want.y,
      [&](std::size_t i) {
        const auto r = row_of(i);
        const double size = (std::abs(xs[i]) + std::abs(want.mean[r])) * want.rstd[r] * std::abs(ws[i % width]);
        return relative * (1.0 + condition[r]) * size + (centred ? kUnitF32 * std::abs(bs[i % width]) : 0.0);
      },
      "y");
  // Applying given statistics gives the same bits.
  const auto first = y.bytes();
  Operand again(c.dtype, Shape{n, m});
  NormForwardArgs apply = args;
  apply.y_NM = again;
  ops.norm_apply(apply);
  EXPECT_EQ(first, again.bytes());
}

// The norm of a sum is that of add(), bit for bit, whichever parts are given.
void check_norm_of_sum(Ops& ops, const NormCase& c) {
  const auto [n, m] = c.shape;
  const Shape shape{n, m};
  const bool centred = c.kind == spec::NormKind::layernorm;
  const Shape of_rows{centred ? 2 : 1, n};
  const auto residual = random_operand(c.dtype, shape, 1, 0.5);
  const auto added = random_operand(c.dtype, shape, 2);
  const auto weight = random_operand(c.weights, Shape{m}, 3), bias = random_operand(c.weights, Shape{m}, 4);
  struct Result {
    Operand x, y, statistics;
    std::vector<std::vector<unsigned char>> bytes() const { return {x.bytes(), y.bytes(), statistics.bytes()}; }
  };
  const auto fresh = [&] { return Result{{c.dtype, shape, added.values()}, {c.dtype, shape}, {DType::f32, of_rows}}; };
  const auto args = [&](const Result& r, const TensorView& of_residual) {
    return NormForwardArgs{.y_NM = r.y,
                           .statistics = r.statistics,
                           .x_NM = r.x,
                           .weight_M = weight,
                           .bias_M = centred ? bias.view() : TensorView{},
                           .residual_NM = of_residual,
                           .kind = c.kind,
                           .eps = kEps};
  };
  const Result apart = fresh(), together = fresh();
  ops.add(apart.x, residual, apart.x);
  ops.norm_forward(args(apart, {}));
  ops.norm_forward(args(together, residual));
  EXPECT_NE(together.x.bytes(), added.bytes());
  EXPECT_TRUE(together.bytes() == apart.bytes());
  const Result applied = fresh();
  ops.copy(applied.statistics, apart.statistics);
  ops.norm_apply(args(applied, residual));
  EXPECT_TRUE(applied.bytes() == apart.bytes());
}

TEST_P(Rows, NormOfASumIsTheSumAndItsNorm) {
  for (const auto& shape : kShapes) {
    for (const auto kind : {spec::NormKind::rmsnorm, spec::NormKind::layernorm}) {
      SCOPED_TRACE(testing::Message() << shape.rows << "x" << shape.width << " kind " << static_cast<int>(kind));
      check_norm_of_sum(*ops_, {GetParam(), GetParam(), shape, kind});
    }
  }
}

TEST_P(Rows, NormForwardEqualsTheOracleAndApplyRepeatsItsBits) {
  for (const auto& shape : kShapes) {
    for (const auto kind : {spec::NormKind::rmsnorm, spec::NormKind::layernorm}) {
      SCOPED_TRACE(testing::Message() << shape.rows << "x" << shape.width << " kind " << static_cast<int>(kind));
      check_norm_forward(*ops_, {GetParam(), DType::f32, shape, kind});
      check_norm_forward(*ops_, {GetParam(), DType::bf16, shape, kind});
    }
  }
}

void check_norm_backward(Ops& ops, const NormCase& c, Write write) {
  const auto [n, m] = c.shape;
  const bool centred = c.kind == spec::NormKind::layernorm;
  const auto x = random_operand(c.dtype, Shape{n, m}, 1, 0.25);
  const auto dy = random_operand(c.dtype, Shape{n, m}, 2);
  const auto weight = random_operand(c.weights, Shape{m}, 3);
  const auto dx = random_operand(c.dtype, Shape{n, m}, 4);
  const auto dweight = random_operand(DType::f32, Shape{m}, 5);
  const auto dbias = random_operand(DType::f32, Shape{m}, 6);
  auto want = oracle::norm_backward(dy.values(), x.values(), weight.values(), c.shape, c.kind, kEps);
  const auto forward = oracle::norm_forward(x.values(), weight.values(), {}, c.shape, c.kind, kEps);
  Values statistics = forward.rstd;
  if (centred) statistics.insert(statistics.begin(), forward.mean.begin(), forward.mean.end());
  if (write == Write::accumulate) {
    const auto add = [](oracle::WithMagnitude& to, const Values& old) {
      for (std::size_t i = 0; i < old.size(); ++i) {
        to.value[i] += old[i];
        to.magnitude[i] += std::abs(old[i]);
      }
    };
    add(want.dx, dx.values());
    add(want.dweight, dweight.values());
    add(want.dbias, dbias.values());
  }
  const Operand saved(DType::f32, Shape{centred ? 2 : 1, n}, statistics);
  ops.norm_backward({.dx_NM = dx,
                     .dweight_M = dweight,
                     .dbias_M = centred ? dbias.view() : TensorView{},
                     .dy_NM = dy,
                     .x_NM = x,
                     .statistics = saved,
                     .weight_M = weight,
                     .kind = c.kind,
                     .write_dx = write,
                     .write_parameters = write});
  // Sums along a row (M) or down a column (N), and at most eight more operations, including the rounded statistics.
  const auto bound = [&](const oracle::WithMagnitude& g, double terms) {
    return [&g, terms](std::size_t i) { return gamma(terms + 8) * g.magnitude[i]; };
  };
  expect_within(dx, want.dx.value, bound(want.dx, static_cast<double>(m)), "dx");
  expect_within(dweight, want.dweight.value, bound(want.dweight, static_cast<double>(n)), "dweight");
  if (centred) expect_within(dbias, want.dbias.value, bound(want.dbias, static_cast<double>(n)), "dbias");
  // Gradients of parameters that do not train are not computed, and the others have the same bits.
  const auto alone = random_operand(c.dtype, Shape{n, m}, 4);
  ops.norm_backward({.dx_NM = alone,
                     .dy_NM = dy,
                     .x_NM = x,
                     .statistics = saved,
                     .weight_M = weight,
                     .kind = c.kind,
                     .write_dx = write});
  EXPECT_EQ(alone.values(), dx.values());
}

TEST_P(Rows, NormBackwardEqualsTheOracle) {
  for (const auto& shape : kShapes) {
    for (const auto kind : {spec::NormKind::rmsnorm, spec::NormKind::layernorm}) {
      for (const auto write : {Write::overwrite, Write::accumulate}) {
        SCOPED_TRACE(testing::Message() << shape.rows << "x" << shape.width << " kind " << static_cast<int>(kind));
        // A width of one has no variance: h is 0/0 in the limit, and its error is unbounded.
        if (shape.width == 1 && kind == spec::NormKind::layernorm) continue;
        if (write == Write::accumulate && shape.rows * shape.width > 1000) continue;  // small shapes suffice
        check_norm_backward(*ops_, {GetParam(), GetParam(), shape, kind}, write);
      }
    }
  }
}

// More rows than a CUDA device has groups of them (engine/ops/workspace.h): elements and whole vectors.
TEST_P(Rows, NormBackwardOfManyRowsEqualsTheOracle) {
  for (const std::int64_t width : {5, 8}) {
    check_norm_backward(*ops_, {GetParam(), GetParam(), {1030, width}, spec::NormKind::layernorm}, Write::accumulate);
  }
}

// Two products and a sum.
TEST_P(Rows, RopeEqualsTheOracleForBothLayoutsAndDirections) {
  for (const std::int64_t head_dim : {2, 6, 16, 64, 130}) {
    for (const auto layout : {spec::RopeLayout::half, spec::RopeLayout::interleaved}) {
      for (const auto direction : {Direction::forward, Direction::backward}) {
        const std::int64_t seq_len = 5;
        const auto x = random_operand(GetParam(), Shape{2 * seq_len, 3 * head_dim}, 1);
        const auto table = random_operand(DType::f32, Shape{seq_len, head_dim}, 2);
        const auto want = oracle::rope(x.values(), table.values(), 3 * head_dim, head_dim, seq_len, layout, direction);
        Values size = x.values();
        double most = 0.0;
        for (const double v : size) most = std::max(most, std::abs(v));
        double steepest = 0.0;
        for (const double v : table.values()) steepest = std::max(steepest, std::abs(v));
        ops_->rope({.x = x, .cos_sin_TD = table, .head_dim = head_dim, .layout = layout, .direction = direction});
        expect_within(
            x, want, [&](std::size_t) { return gamma(2) * 2.0 * most * steepest; }, "rope");
      }
    }
  }
}

constexpr spec::Activation kActivations[] = {spec::Activation::gelu_tanh, spec::Activation::gelu,
                                             spec::Activation::relu, spec::Activation::swiglu, spec::Activation::geglu};

// The error of the function and of its slope, from the stated errors of vector_math.h: sigmoid errs by 2^-21 of itself,
// and its argument (cubic in x) by 8u of itself; erf by 2^-22. Slopes add up at most three such terms times |x|.
double activation_error(double x, double unit) {
  return (1.0 + std::abs(x) * (1.0 + x * x)) * 16.0 * unit;
}

TEST_P(Rows, ActivationForwardEqualsTheOracle) {
  for (const auto kind : kActivations) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Shape shape{7, 133};
    const auto gate = random_operand(GetParam(), shape, 1);
    const auto up = random_operand(GetParam(), shape, 2);
    const Operand product(GetParam(), shape);
    const bool gated = spec::is_gated(kind);
    ops_->activation_forward(
        {.product_NF = product, .gate_NF = gated ? gate.view() : TensorView{}, .up_NF = up, .kind = kind});
    const auto g = gate.values();
    const auto u = up.values();
    Values want(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      want[i] = gated ? oracle::activation(g[i], kind) * u[i] : oracle::activation(u[i], kind);
    }
    expect_within(
        product, want,
        [&](std::size_t i) {
          return gated ? activation_error(g[i], kUnitF32) * std::abs(u[i]) : activation_error(u[i], kUnitF32);
        },
        "product");
  }
}

TEST_P(Rows, ActivationBackwardEqualsTheOracle) {
  for (const auto kind : kActivations) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Shape shape{7, 133};
    const auto gate = random_operand(GetParam(), shape, 1);
    const auto up = random_operand(GetParam(), shape, 2);
    const auto dproduct = random_operand(GetParam(), shape, 3);
    const auto g = gate.values();
    const auto u = up.values();
    const auto d = dproduct.values();
    const bool gated = spec::is_gated(kind);
    ops_->activation_backward(
        {.gate_NF = gated ? gate.view() : TensorView{}, .up_NF = up, .dproduct_NF = dproduct, .kind = kind});
    Values dgate(u.size());
    Values dup(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      dgate[i] = d[i] * u[i] * oracle::activation_slope(g[i], kind);
      dup[i] = gated ? d[i] * oracle::activation(g[i], kind) : d[i] * oracle::activation_slope(u[i], kind);
    }
    if (gated) {
      expect_within(
          gate, dgate, [&](std::size_t i) { return activation_error(g[i], kUnitF32) * std::abs(d[i] * u[i]); },
          "dgate");
    }
    expect_within(
        up, dup, [&](std::size_t i) { return activation_error(gated ? g[i] : u[i], kUnitF32) * std::abs(d[i]); },
        "dup");
  }
}

TEST_F(Activation, SlopesStayFiniteFarFromZero) {
  for (const auto kind : kActivations) {
    const Operand up(DType::f32, Shape{1, 4}, {-3e4, -80.0, 80.0, 3e4});
    const Operand gate(DType::f32, Shape{1, 4}, {-3e4, -80.0, 80.0, 3e4});
    const Operand d(DType::f32, Shape{1, 4}, {1.0, 1.0, 1.0, 1.0});
    const bool gated = spec::is_gated(kind);
    ops_->activation_backward(
        {.gate_NF = gated ? gate.view() : TensorView{}, .up_NF = up, .dproduct_NF = d, .kind = kind});
    for (const double v : up.values()) EXPECT_TRUE(std::isfinite(v)) << static_cast<int>(kind);
    for (const double v : gate.values()) EXPECT_TRUE(std::isfinite(v)) << static_cast<int>(kind);
  }
}

TEST_P(Rows, EmbeddingAddsTableAndPosition) {
  const std::int64_t vocabulary = 11, width = 37, seq_len = 5, rows = 15;
  const auto table = random_operand(GetParam(), Shape{vocabulary, width}, 1);
  const auto position = random_operand(GetParam(), Shape{seq_len + 2, width}, 2);
  const auto tokens = random_ids(Shape{rows}, vocabulary, 3);
  const auto ids = tokens.values();
  const auto rows_of_table = table.values();
  const auto rows_of_position = position.values();
  for (const bool positions : {false, true}) {
    const Operand x(GetParam(), Shape{rows, width});
    ops_->embedding_forward({.x_NM = x,
                             .tokens_N = tokens,
                             .table_VM = table,
                             .position_TM = positions ? position.view() : TensorView{},
                             .seq_len = seq_len});
    Values want(x.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < width; ++i) {
        want[oracle::index(r * width + i)] =
            rows_of_table[oracle::index(static_cast<std::int64_t>(ids[oracle::index(r)]) * width + i)] +
            (positions ? rows_of_position[oracle::index(r % seq_len * width + i)] : 0.0);
      }
    }
    expect_within(
        x, want, [&](std::size_t) { return 0.0; }, "x");
  }
}

// A token's rows are added one by one: gamma of their number.
TEST_P(Rows, EmbeddingBackwardSumsTheRowsOfEachToken) {
  const std::int64_t vocabulary = 11, width = 37, seq_len = 5, rows = 40;
  const auto tokens = random_ids(Shape{rows}, vocabulary, 3);
  const auto dx = random_operand(GetParam(), Shape{rows, width}, 4);
  const auto dtable = random_operand(DType::f32, Shape{vocabulary, width}, 5);
  const auto dposition = random_operand(DType::f32, Shape{seq_len + 1, width}, 6);
  Values table = dtable.values();
  Values position = dposition.values();
  const auto d = dx.values();
  const auto ids = tokens.values();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      table[oracle::index(static_cast<std::int64_t>(ids[oracle::index(r)]) * width + i)] +=
          d[oracle::index(r * width + i)];
      position[oracle::index(r % seq_len * width + i)] += d[oracle::index(r * width + i)];
    }
  }
  ops_->embedding_backward(
      {.dtable_VM = dtable, .dposition_TM = dposition, .dx_NM = dx, .tokens_N = tokens, .seq_len = seq_len});
  double most = 0.0;
  for (const double v : d) most = std::max(most, std::abs(v));
  const auto bound = [&](std::size_t) { return gamma(rows) * (most + 4.0) * rows; };
  expect_within(dtable, table, bound, "dtable");
  expect_within(dposition, position, bound, "dposition");
}

// At the call if tokens are read on the host; otherwise at the next value that reaches the host.
TEST_F(Embedding, ATokenOutsideTheVocabularyIsBadInput) {
  const Operand table(DType::f32, Shape{4, 8});
  const Operand x(DType::f32, Shape{2, 8});
  const Operand value(DType::f64, Shape{1});
  for (const double outside : {4.0, -1.0}) {
    const Operand tokens(DType::i32, Shape{2}, {3, outside});
    EXPECT_THROW(
        {
          ops_->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .seq_len = 2});
          ops_->read_f64(value);
        },
        BadInput);
    const Operand dtable(DType::f32, Shape{4, 8});
    EXPECT_THROW(
        {
          ops_->embedding_backward({.dtable_VM = dtable, .dx_NM = x, .tokens_N = tokens, .seq_len = 2});
          ops_->read_f64(value);
        },
        BadInput);
    // -1 means that there is no target.
    const Operand targets(DType::i32, Shape{2}, {3, outside < 0 ? outside - 1 : outside});
    const Operand logits(DType::f32, Shape{2, 4});
    const Operand losses(DType::f32, Shape{2});
    EXPECT_THROW(
        {
          ops_->cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = targets});
          ops_->read_f64(value);
        },
        BadInput);
  }
  // After the error has been reported, later calls work.
  const Operand tokens(DType::i32, Shape{2}, {3, 0});
  ops_->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .seq_len = 2});
  EXPECT_EQ(ops_->read_f64(value), 0.0);
}

// A probability errs by 3u (exp), by 2u of its argument, and by gamma_64 for the sums of a block of 1024 in 16 lanes
// and their folding; the loss by the logarithm of that.
TEST_P(Rows, CrossEntropyEqualsTheOracle) {
  for (const RowsShape shape : {RowsShape{1, 2}, {3, 17}, {5, 1024}, {4, 3001}, {2, 50257}}) {
    SCOPED_TRACE(shape.width);
    const auto logits = random_operand(GetParam(), Shape{shape.rows, shape.width}, 1, 30.0);
    const auto targets = random_ids(Shape{shape.rows}, static_cast<std::int32_t>(shape.width), 2);
    const Operand losses(DType::f32, Shape{shape.rows});
    constexpr double kScale = 0.125;
    const auto want = oracle::cross_entropy(logits.values(), targets.values(), shape, kScale);
    ops_->cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = targets, .gradient_scale = kScale});
    constexpr double kArgument = 2.0 * 16.0 * kUnitF32;  // logits lie within 16 of the maximum
    const double relative = gamma(64.0 + 16.0 + 8.0) + kArgument;
    expect_within(
        losses, want.losses, [&](std::size_t) { return relative; }, "losses");
    expect_within(
        logits, want.dlogits, [&](std::size_t i) { return relative * std::abs(want.dlogits[i]) + relative * 1e-9; },
        "dlogits");
  }
}

// As above, with a division for the count. The logits of a row without a target do not matter, whatever they are.
TEST_P(Rows, APositionWithoutATargetHasNeitherLossNorGradient) {
  for (const RowsShape shape : {RowsShape{4, 2}, {7, 17}, {5, 1024}, {6, 3001}}) {
    SCOPED_TRACE(shape.width);
    auto values = random_operand(GetParam(), Shape{shape.rows, shape.width}, 1, 30.0).values();
    auto ids = random_ids(Shape{shape.rows}, static_cast<std::int32_t>(shape.width), 2).values();
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{2}, shape.rows - 1}) {
      ids[oracle::index(row)] = kNoTarget;
      values[oracle::index((row + 1) * shape.width - 1)] = row == 0 ? NAN : INFINITY;
    }
    const Operand logits(GetParam(), Shape{shape.rows, shape.width}, values);
    const Operand targets(DType::i32, Shape{shape.rows}, ids);
    const Operand losses(DType::f32, Shape{shape.rows}, Values(oracle::index(shape.rows), 7.0));
    const Operand counted(DType::f64, Shape{1}, {3.0});
    constexpr double kScale = 0.5;
    const auto want = oracle::cross_entropy(logits.values(), ids, shape, kScale / 3.0);
    ops_->cross_entropy({.losses_N = losses,
                         .logits_NV = logits,
                         .targets_N = targets,
                         .gradient_scale = kScale,
                         .counted_targets = counted});
    constexpr double kArgument = 2.0 * 16.0 * kUnitF32;
    const double relative = gamma(64.0 + 16.0 + 8.0 + 1.0) + kArgument;
    const auto row_of = [&](std::size_t i) { return i / oracle::index(shape.width); };
    expect_within(
        losses, want.losses, [&](std::size_t i) { return ids[i] < 0 ? 0.0 : relative; }, "losses");
    expect_within(
        logits, want.dlogits,
        [&](std::size_t i) {
          return ids[row_of(i)] < 0 ? 0.0 : relative * std::abs(want.dlogits[i]) + relative * 1e-9;
        },
        "dlogits");
  }
}

// A mean over nothing has no factor, and nothing to multiply.
TEST_F(CrossEntropy, WithoutAnyTargetAllIsZero) {
  const auto logits = random_operand(DType::f32, Shape{3, 50}, 1);
  const Operand losses(DType::f32, Shape{3}, {7.0, 7.0, 7.0});
  ops_->cross_entropy({.losses_N = losses,
                       .logits_NV = logits,
                       .targets_N = Operand(DType::i32, Shape{3}, Values(3, kNoTarget)),
                       .counted_targets = Operand(DType::f64, Shape{1}, {0.0})});
  EXPECT_EQ(losses.values(), Values(3, 0.0));
  EXPECT_EQ(logits.values(), Values(150, 0.0));
}

TEST_F(CrossEntropy, ANanLogitGivesANanLoss) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{2000}}) {
    Values values(2049, 1.0);
    values[at] = NAN;
    const Operand logits(DType::f32, Shape{1, 2049}, values);
    const Operand losses(DType::f32, Shape{1});
    ops_->cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = Operand(DType::i32, Shape{1}, {7})});
    EXPECT_TRUE(std::isnan(losses.values()[0])) << at;
  }
}

// Operands that begin one element behind an aligned address, together with an aligned one.
TEST_P(Rows, ElementsNeedNoAlignment) {
  const std::int64_t n = 1003;
  const auto inner = [](const Operand& t) { return t.view().slice(1, Shape{n}); };
  const auto a = random_operand(GetParam(), Shape{n + 2}, 1);
  const auto b = random_operand(GetParam(), Shape{n}, 2);
  const Operand sum(GetParam(), Shape{n + 2});
  const Operand floats(DType::f32, Shape{n + 2});
  const Operand total(DType::f64, Shape{1});
  ops_->add(inner(sum), inner(a), b);
  ops_->copy(inner(floats), b);
  ops_->sum(total, inner(a), Write::overwrite);
  const auto as = a.values(), bs = b.values(), sums = sum.values(), copied = floats.values();
  double want = 0.0;
  for (std::size_t i = 0; i < bs.size(); ++i) {
    ASSERT_EQ(sums[i + 1], oracle::rounded_to(GetParam(), static_cast<double>(static_cast<float>(as[i + 1] + bs[i]))));
    ASSERT_EQ(copied[i + 1], bs[i]);
    want += as[i + 1];
  }
  EXPECT_NEAR(ops_->read_f64(total), want, 1e-12 * n);
  ops_->fill(inner(sum), 2.0);
  Values filled(static_cast<std::size_t>(n + 2), 2.0);
  filled.front() = filled.back() = 0.0;
  EXPECT_EQ(sum.values(), filled);
}

TEST_P(Rows, AddRoundsOnceAndMayBeInPlace) {
  for (const std::int64_t n : {1, 15, 16, 1003}) {
    const auto a = random_operand(GetParam(), Shape{n}, 1);
    const auto b = random_operand(GetParam(), Shape{n}, 2);
    Values want = a.values();
    const auto added = b.values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] = oracle::rounded_to(GetParam(), static_cast<double>(static_cast<float>(want[i] + added[i])));
    }
    ops_->add(a, a, b);
    EXPECT_EQ(a.values(), want);
  }
}

TEST_P(Rows, FillAndUploadWriteEveryElement) {
  const Operand x(GetParam(), Shape{1003});
  ops_->fill(x, 1.5);
  EXPECT_EQ(x.values(), Values(1003, 1.5));
  const auto other = random_operand(GetParam(), Shape{1003}, 1);
  ops_->upload(x, other.view().data);
  EXPECT_EQ(x.bytes(), other.bytes());
}

TEST_F(Readings, BringAFewValuesOrAll) {
  const Operand x(DType::f64, Shape{8}, {1.0, -2.5, 3.0, 0.0, 5.0, 6.0, 7.0, 8.0});
  std::array<double, 8> all{};
  ops_->read_f64(all, x);
  EXPECT_EQ(Values(all.begin(), all.end()), x.values());
  std::array<double, 2> some{};
  ops_->read_f64(some, x.view().slice(1, Shape{2}));
  EXPECT_EQ(some, (std::array{-2.5, 3.0}));
  EXPECT_THROW(ops_->read_f64(some, x), LogicFault);
  EXPECT_THROW(ops_->read_f64(x), LogicFault);
  EXPECT_THROW(ops_->read_f64({}, Operand(DType::f64, Shape{0})), LogicFault);
  const auto y = random_operand(DType::f64, Shape{1000}, 1);
  std::vector<double> many(1000);
  ops_->read_f64(many, y);
  EXPECT_EQ(many, y.values());
}

// f64 sums of exact terms: far below 1e-12 of the terms' magnitude for a hundred thousand of them.
TEST_P(Rows, SumsAreInF64) {
  for (const std::int64_t n : {1, 31, 1003, 100003}) {
    const auto x = random_operand(GetParam(), Shape{n}, 1);
    double sum = 0.0, squares = 0.0, size = 0.0;
    for (const double v : x.values()) {
      sum += v;
      squares += v * v;
      size += std::abs(v) + v * v;
    }
    const Operand out(DType::f64, Shape{1}, {100.0});
    ops_->sum(out, x, Write::overwrite);
    EXPECT_NEAR(ops_->read_f64(out), sum, 1e-12 * size);
    const TensorView whole = x;
    ops_->sum_of_squares(out, {&whole, 1}, Write::accumulate);
    EXPECT_NEAR(ops_->read_f64(out), sum + squares, 1e-12 * size);
  }
}

TEST_P(Rows, BiasBackwardSumsColumns) {
  for (const RowsShape shape : {RowsShape{1, 1}, {3, 65}, {200, 130}}) {
    for (const auto write : {Write::overwrite, Write::accumulate}) {
      const auto dy = random_operand(GetParam(), Shape{shape.rows, shape.width}, 1);
      const auto dbias = random_operand(DType::f32, Shape{shape.width}, 2);
      Values want = write == Write::accumulate ? dbias.values() : Values(oracle::index(shape.width));
      Values size(oracle::index(shape.width), 4.0);
      const auto d = dy.values();
      for (std::size_t i = 0; i < d.size(); ++i) {
        want[i % want.size()] += d[i];
        size[i % want.size()] += std::abs(d[i]);
      }
      ops_->bias_backward(dbias, dy, write);
      expect_within(
          dbias, want, [&](std::size_t i) { return gamma(static_cast<double>(shape.rows) + 1) * size[i]; }, "dbias");
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
