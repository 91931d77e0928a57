// Tests the oracles: their gradients equal finite differences of their forward functions.
#include <gtest/gtest.h>

#include "tests/engine/oracle/experts.h"
#include "tests/engine/oracle/rows.h"

namespace perfbench::engine::oracle {
namespace {

Values random_values(std::size_t n, unsigned seed) {
  return random_operand(DType::f32, Shape{static_cast<std::int64_t>(n)}, seed).values();
}

double dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Central differences err by h^2/6 of the third derivative, here of order 1e-10 times a modest factor, and by rounding,
// u64 / h = 1e-11 times the size of the loss.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;

void expect_gradient(const Values& gradient, Values at, const std::function<double(const Values&)>& loss) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double value = at[i];
    at[i] = value + kStep;
    const double above = loss(at);
    at[i] = value - kStep;
    const double below = loss(at);
    at[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2.0 * kStep), kTolerance) << "element " << i;
  }
}

TEST(Oracle, AttentionGradientIsTheFiniteDifference) {
  const AttentionDims dims{.batch = 2, .seq_len = 5, .n_heads = 4, .n_kv_heads = 2, .head_dim = 3};
  const auto q = random_values(2 * 5 * 4 * 3, 1), k = random_values(2 * 5 * 2 * 3, 2), v = random_values(60, 3);
  const auto up = random_values(q.size(), 4);
  const auto g = attention_backward(up, q, k, v, dims);
  expect_gradient(g.dquery.value, q,
                  [&](const Values& x) { return dot(up, attention_forward(x, k, v, dims).context); });
  expect_gradient(g.dkey.value, k, [&](const Values& x) { return dot(up, attention_forward(q, x, v, dims).context); });
  expect_gradient(g.dvalue.value, v,
                  [&](const Values& x) { return dot(up, attention_forward(q, k, x, dims).context); });
}

// With a bias, and another score factor; all sequences share the bias.
TEST(Oracle, GradientOfAttentionsBiasIsTheFiniteDifference) {
  const AttentionDims dims{
      .batch = 2, .seq_len = 5, .n_heads = 4, .n_kv_heads = 2, .head_dim = 3, .score_factor = 1.25F};
  const auto q = random_values(2 * 5 * 4 * 3, 1), k = random_values(2 * 5 * 2 * 3, 2), v = random_values(60, 3);
  const auto up = random_values(q.size(), 4), bias = random_values(20, 5);
  const auto g = attention_backward(up, q, k, v, dims, {.bias = bias});
  Values dbias(20);
  for (std::size_t i = 0; i < g.dbias.value.size(); ++i) dbias[i % 20] += g.dbias.value[i];
  expect_gradient(dbias, bias,
                  [&](const Values& x) { return dot(up, attention_forward(q, k, v, dims, {.bias = x}).context); });
  expect_gradient(g.dquery.value, q,
                  [&](const Values& x) { return dot(up, attention_forward(x, k, v, dims, {.bias = bias}).context); });
}

TEST(Oracle, GradientOfAttentionWithinDocumentsIsTheFiniteDifference) {
  const AttentionDims dims{.batch = 2, .seq_len = 5, .n_heads = 4, .n_kv_heads = 2, .head_dim = 3};
  const ScoreRules rules{.first = {0, 0, 2, 2, 2, 0, 1, 1, 1, 4}};
  const auto q = random_values(2 * 5 * 4 * 3, 1), k = random_values(2 * 5 * 2 * 3, 2), v = random_values(60, 3);
  const auto up = random_values(q.size(), 4);
  const auto g = attention_backward(up, q, k, v, dims, rules);
  const auto loss = [&](const Values& of_q, const Values& of_k, const Values& of_v) {
    return dot(up, attention_forward(of_q, of_k, of_v, dims, rules).context);
  };
  expect_gradient(g.dquery.value, q, [&](const Values& x) { return loss(x, k, v); });
  expect_gradient(g.dkey.value, k, [&](const Values& x) { return loss(q, x, v); });
  expect_gradient(g.dvalue.value, v, [&](const Values& x) { return loss(q, k, x); });
}

TEST(Oracle, NormGradientIsTheFiniteDifference) {
  const RowsShape s{3, 7};
  for (const auto kind : {spec::NormKind::rmsnorm, spec::NormKind::layernorm}) {
    const auto x = random_values(21, 1), w = random_values(7, 2), b = random_values(7, 3), up = random_values(21, 4);
    const auto g = norm_backward(up, x, w, s, kind, 1e-5);
    expect_gradient(g.dx.value, x, [&](const Values& at) { return dot(up, norm_forward(at, w, b, s, kind, 1e-5).y); });
    expect_gradient(g.dweight.value, w,
                    [&](const Values& at) { return dot(up, norm_forward(x, at, b, s, kind, 1e-5).y); });
    expect_gradient(g.dbias.value, b,
                    [&](const Values& at) { return dot(up, norm_forward(x, w, at, s, kind, 1e-5).y); });
  }
}

TEST(Oracle, ActivationSlopeIsTheFiniteDifference) {
  using spec::Activation;
  for (const auto kind :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::swiglu, Activation::geglu}) {
    for (double x = -6.05; x < 6.0; x += 0.1) {
      const double slope = (activation(x + kStep, kind) - activation(x - kStep, kind)) / (2.0 * kStep);
      EXPECT_NEAR(activation_slope(x, kind), slope, kTolerance) << x;
    }
  }
}

TEST(Oracle, CrossEntropyGradientIsTheFiniteDifference) {
  const RowsShape s{3, 9};
  const auto logits = random_values(27, 1);
  const Values targets{0, 8, 4};
  const auto g = cross_entropy(logits, targets, s, 0.25).dlogits;
  expect_gradient(g, logits, [&](const Values& at) {
    double sum = 0.0;
    for (const double loss : cross_entropy(at, targets, s, 0.25).losses) sum += 0.25 * loss;
    return sum;
  });
}

// The step changes no choice: the logits are further apart.
TEST(Oracle, RouteGradientIsTheFiniteDifference) {
  const RouterShape s{6, 5, 3};
  const RoutingRule rule{.part_rows = 18, .seq_len = 3, .balance_choices = 2};
  const auto logits = random_values(30, 1), dgates = random_values(18, 2);
  constexpr double kScale = 0.75;
  const auto forward = route_forward(logits, s, rule);
  const auto g = route_backward(dgates, logits, forward.gates, forward.experts, s, rule, kScale);
  expect_gradient(g.dlogits, logits, [&](const Values& at) {
    const auto r = route_forward(at, s, rule);
    double loss = dot(dgates, r.gates);
    for (const double balance : r.balance) loss += kScale * balance;
    return loss;
  });
}

TEST(Oracle, ExpertProductsGradientsAreTheFiniteDifferences) {
  using Kind = ExpertProductArgs::Kind;
  const ExpertShape s{2, 4, 2, 3, 5};
  const Values segments{0, 1, 1, 3, 0, 2, 2, 0};
  const auto x = random_values(8 * 5, 1), w = random_values(2 * 3 * 5, 2), up = random_values(8 * 3, 3);
  expect_gradient(expert_product(Kind::input_gradient, up, w, segments, s).c.value, x,
                  [&](const Values& at) { return dot(up, expert_product(Kind::forward, at, w, segments, s).c.value); });
  expect_gradient(expert_product(Kind::weight_gradient, up, x, segments, s).c.value, w,
                  [&](const Values& at) { return dot(up, expert_product(Kind::forward, x, at, segments, s).c.value); });
}

TEST(Oracle, RopeBackwardIsTheTransposeOfForward) {
  for (const auto layout : {spec::RopeLayout::half, spec::RopeLayout::interleaved}) {
    const auto x = random_values(2 * 3 * 12, 1), up = random_values(2 * 3 * 12, 2), table = random_values(3 * 6, 3);
    const double ahead = dot(up, rope(x, table, 12, 6, 3, layout, Direction::forward));
    const double back = dot(rope(up, table, 12, 6, 3, layout, Direction::backward), x);
    EXPECT_NEAR(ahead, back, 1e-10);
  }
}

}  // namespace
}  // namespace perfbench::engine::oracle
