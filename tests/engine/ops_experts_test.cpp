// The choice of experts, and how rows get there and back, compared with oracles.
#include <gtest/gtest.h>

#include <optional>

#include "engine/core/error.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/experts.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::gamma;
using oracle::kUnitF32;
using oracle::Operand;
using oracle::random_operand;
using oracle::RouterShape;
using oracle::Values;
using Order = RoutingRule::Order;

class Routing : public OpsTest {};
class ExpertRows : public OpsTest, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Storage, ExpertRows, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

struct RoutingCase {
  const char* name;
  RouterShape shape;
  RoutingRule rule;
};

RoutingRule slots(std::int64_t parts, std::int64_t part_rows, std::int64_t slots, std::int64_t group_tokens,
                  std::int64_t seq_len, Order order, std::int64_t balance_choices) {
  return {.parts = parts,
          .part_rows = part_rows,
          .slots = slots,
          .group_tokens = group_tokens,
          .order = order,
          .seq_len = seq_len,
          .balance_choices = balance_choices};
}

RoutingRule dropless(std::int64_t parts, std::int64_t part_rows, std::int64_t seq_len, Order order,
                     std::int64_t balance_choices) {
  return slots(parts, part_rows, 0, 0, seq_len, order, balance_choices);
}

// Logits that are small integers have ties. With 24 tokens choosing 4 of 8 experts some experts overflow.
const RoutingCase kRoutings[] = {
    {"slots for all", {12, 4, 2}, slots(1, 48, 12, 12, 6, Order::by_token, 1)},
    {"slots that overflow", {24, 8, 2}, slots(2, 32, 4, 12, 12, Order::by_token, 2)},
    {"slots by choice", {24, 8, 2}, slots(2, 32, 4, 12, 12, Order::by_choice, 1)},
    {"slots of many groups", {24, 4, 3}, slots(4, 24, 3, 3, 8, Order::by_choice, 3)},
    {"an expert a part", {24, 4, 1}, slots(4, 6, 2, 8, 24, Order::by_token, 1)},
    {"all experts chosen", {10, 3, 3}, slots(1, 12, 4, 10, 5, Order::by_choice, 2)},
    {"dropless with room", {24, 8, 2}, dropless(2, 48, 12, Order::by_token, 2)},
    {"dropless by choice", {24, 8, 3}, dropless(4, 72, 6, Order::by_choice, 1)},
    {"dropless that overflows", {24, 8, 2}, dropless(4, 9, 24, Order::by_token, 1)},
    {"dropless by choice that overflows", {24, 8, 3}, dropless(2, 17, 8, Order::by_choice, 3)},
    {"dropless of one row", {9, 3, 3}, dropless(3, 1, 3, Order::by_token, 3)},
    {"more experts than a warp has lanes", {70, 100, 5}, dropless(4, 90, 35, Order::by_token, 5)},
    {"more choices than a block takes at once", {1536, 3, 3}, slots(1, 1800, 600, 1536, 768, Order::by_choice, 2)},
    {"more choices than a block takes, dropless", {1536, 6, 3}, dropless(2, 2300, 1536, Order::by_token, 1)},
};

struct RoutingOperands {
  RoutingOperands(const RoutingCase& c, const Operand& of_tokens)
      : logits(of_tokens),
        gates(DType::f32, Shape{c.shape.tokens, c.shape.choices}),
        experts(DType::i32, Shape{c.shape.tokens, c.shape.choices}),
        rows(DType::i32, Shape{c.shape.tokens, c.shape.choices}),
        choices(random_operand(DType::i32, Shape{c.rule.parts * c.rule.part_rows}, 9, 99.0)),
        segments(DType::i32, Shape{c.shape.experts, 2}),
        balance(DType::f32, Shape{c.shape.tokens / c.rule.seq_len}),
        load(DType::f32, Shape{c.shape.tokens / c.rule.seq_len}),
        dropped(DType::f32, Shape{c.shape.experts}),
        args{.logits_NE = logits.view(),
             .gates_NC = gates,
             .experts_NC = experts,
             .rows_NC = rows,
             .choices_Q = choices,
             .segments_E2 = segments,
             .balance_B = balance,
             .load_B = load,
             .dropped_E = dropped,
             .rule = c.rule} {}

  std::vector<std::vector<unsigned char>> bytes() const {
    return {gates.bytes(),    experts.bytes(), rows.bytes(), choices.bytes(),
            segments.bytes(), balance.bytes(), load.bytes(), dropped.bytes()};
  }

  const Operand& logits;
  Operand gates, experts, rows, choices, segments, balance, load, dropped;
  RouteForwardArgs args;
};

// Logits of deviation 3 in steps of `step`: large ones have ties.
Operand router_logits(const RouterShape& s, double step) {
  Values x = random_operand(DType::f32, Shape{s.tokens, s.experts}, 1).values();
  for (auto& v : x) v = std::nearbyint(3.0 * v / step) * step;
  return {DType::f32, Shape{s.tokens, s.experts}, x};
}

double span_of(const Values& x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  return *most - *least;
}

// A probability errs by 8u for its exponential, by u of that function's argument, by gamma of the sum's terms and by
// the division.
double probability_error(double span, double terms) {
  return gamma(terms + 16.0) + 2.0 * kUnitF32 * span;
}

void check_routing(Ops& ops, const RoutingCase& c, const Operand& logits) {
  const RoutingOperands o(c, logits);
  ops.route_forward(o.args);
  const Values x = logits.values();
  const auto want = oracle::route_forward(x, c.shape, c.rule);
  EXPECT_EQ(o.experts.values(), want.experts);
  EXPECT_EQ(o.rows.values(), want.rows);
  EXPECT_EQ(o.choices.values(), want.row_choices);
  EXPECT_EQ(o.segments.values(), want.segments);
  EXPECT_EQ(o.dropped.values(), want.dropped);
  const double of_gates = probability_error(span_of(x), static_cast<double>(c.shape.choices));
  expect_within(
      o.gates, want.gates, [&](std::size_t i) { return of_gates * want.gates[i]; }, "gates");
  // A sum over probabilities and their sums over tokens and experts, all with positive terms, and two factors.
  const double of_balance =
      probability_error(span_of(x), static_cast<double>(2 * c.shape.experts + c.rule.seq_len + 4));
  expect_within(
      o.balance, want.balance, [&](std::size_t i) { return of_balance * want.balance[i]; }, "balance");
  // A product and a quotient of whole numbers.
  expect_within(
      o.load, want.load, [&](std::size_t i) { return gamma(2.0) * want.load[i]; }, "load");
}

TEST_F(Routing, ForwardEqualsTheOracle) {
  for (const auto& c : kRoutings) {
    for (const double step : {1e-4, 2.0}) {
      SCOPED_TRACE(testing::Message() << c.name << ", logits in steps of " << step);
      check_routing(*ops_, c, router_logits(c.shape, step));
    }
  }
}

// As in a recomputation, which does not need them.
TEST_F(Routing, IsTheSameWithoutBalanceLoadAndDrops) {
  for (const auto& c : kRoutings) {
    SCOPED_TRACE(c.name);
    const auto logits = router_logits(c.shape, 2.0);
    const RoutingOperands asked(c, logits);
    RoutingOperands unasked(c, logits);
    ops_->route_forward(asked.args);
    unasked.args.balance_B = unasked.args.load_B = unasked.args.dropped_E = {};
    ops_->route_forward(unasked.args);
    unasked.args.balance_B = asked.args.balance_B;
    EXPECT_THROW(ops_->route_forward(unasked.args), LogicFault) << "one of them alone";
    unasked.balance.set(asked.balance.values());
    unasked.load.set(asked.load.values());
    unasked.dropped.set(asked.dropped.values());
    EXPECT_TRUE(asked.bytes() == unasked.bytes());
  }
}

// Every token chooses the same experts, so one expert gets them all and another none.
TEST_F(Routing, AnExpertMayHaveAllTokensOrNone) {
  for (const auto& c : kRoutings) {
    SCOPED_TRACE(c.name);
    Values x(oracle::index(c.shape.tokens * c.shape.experts), 0.0);
    for (std::int64_t n = 0; n < c.shape.tokens; ++n) x[oracle::index((n + 1) * c.shape.experts - 1)] = 5.0;
    check_routing(*ops_, c, Operand(DType::f32, Shape{c.shape.tokens, c.shape.experts}, x));
  }
}

TEST_F(Routing, EqualLogitsChooseTheFirstExperts) {
  const RoutingCase c{"ties", {3, 40, 4}, dropless(1, 12, 3, Order::by_token, 1)};
  Values x(120, -1.0);
  for (const auto at : {7U, 33U, 38U, 39U}) x[at] = 2.0;
  for (const auto at : {1U, 35U}) x[40 + at] = -0.0;
  for (const auto at : {2U, 34U}) x[40 + at] = 0.0;
  const Operand logits(DType::f32, Shape{3, 40}, x);
  const RoutingOperands o(c, logits);
  ops_->route_forward(o.args);
  EXPECT_EQ(o.experts.values(), (Values{7, 33, 38, 39, 1, 2, 34, 35, 0, 1, 2, 3}));
  EXPECT_EQ(o.gates.values(), Values(12, 0.25));
}

// A NaN shows in a gate, and all rows are within bounds.
TEST_F(Routing, ANanLogitGivesANanGate) {
  const RoutingCase c{"nan", {4, 6, 2}, dropless(2, 8, 4, Order::by_token, 1)};
  Values x = router_logits(c.shape, 0.5).values();
  for (std::size_t e = 0; e < 6; ++e) x[e] = x[12 + e] = NAN;
  const Operand logits(DType::f32, Shape{4, 6}, x);
  const RoutingOperands o(c, logits);
  ops_->route_forward(o.args);
  const auto gates = o.gates.values();
  for (const auto at : {0U, 1U, 4U, 5U}) EXPECT_TRUE(std::isnan(gates[at])) << at;
  for (const auto at : {2U, 3U, 6U, 7U}) EXPECT_TRUE(std::isfinite(gates[at])) << at;
  for (const double expert : o.experts.values()) EXPECT_TRUE(expert >= 0.0 && expert < 6.0) << expert;
  for (const double row : o.rows.values()) EXPECT_TRUE(row >= 0.0 && row < 16.0) << row;
  EXPECT_TRUE(std::isnan(o.balance.values()[0]));
}

// Sums over choices of the gates' gradient, and over experts of the balance's expected values.
TEST_F(Routing, BackwardEqualsTheOracle) {
  for (const auto& c : kRoutings) {
    for (const auto dtype : {DType::f32, DType::bf16}) {
      for (const double scale : {0.0, 0.75}) {
        SCOPED_TRACE(testing::Message() << c.name << " " << dtype_name(dtype) << ", scale " << scale);
        const auto logits = router_logits(c.shape, 1e-4);
        const Values x = logits.values();
        const auto routing = oracle::route_forward(x, c.shape, c.rule);
        const Operand gates(DType::f32, Shape{c.shape.tokens, c.shape.choices}, routing.gates);
        const Operand experts(DType::i32, Shape{c.shape.tokens, c.shape.choices}, routing.experts);
        const auto dgates = random_operand(DType::f32, Shape{c.shape.tokens, c.shape.choices}, 2);
        const auto dlogits = random_operand(dtype, Shape{c.shape.tokens, c.shape.experts}, 3);
        ops_->route_backward({.dlogits_NE = dlogits,
                              .dgates_NC = dgates,
                              .logits_NE = logits,
                              .gates_NC = gates,
                              .experts_NC = experts,
                              .balance_scale = scale,
                              .rule = c.rule});
        const auto want =
            oracle::route_backward(dgates.values(), x, gates.values(), routing.experts, c.shape, c.rule, scale);
        const double of_gates = gamma(static_cast<double>(c.shape.choices) + 4.0);
        // The probability occurs twice.
        const double of_balance = 2.0 * probability_error(span_of(x), static_cast<double>(c.shape.experts) + 8.0);
        expect_within(
            dlogits, want.dlogits,
            [&](std::size_t i) { return of_gates * want.gate_magnitude[i] + of_balance * want.balance_magnitude[i]; },
            "dlogits");
      }
    }
  }
}

// Rows of which some are used and some are not.
struct Way {
  explicit Way(const RoutingCase& c)
      : shape(c.shape),
        routing(oracle::route_forward(router_logits(c.shape, 1e-4).values(), c.shape, c.rule)),
        gates(DType::f32, of_choices(), routing.gates),
        rows(DType::i32, of_choices(), routing.rows),
        choices(DType::i32, Shape{c.rule.parts * c.rule.part_rows}, routing.row_choices) {}

  Shape of_choices() const { return {shape.tokens, shape.choices}; }
  std::int64_t row_count() const { return static_cast<std::int64_t>(routing.row_choices.size()); }
  std::int64_t token_of(std::int64_t row) const {
    return static_cast<std::int64_t>(routing.row_choices[oracle::index(row)]) / shape.choices;
  }

  RouterShape shape;
  oracle::Routing routing;
  Operand gates, rows, choices;
};

// Widths with and without whole vectors of both types, and one that exceeds what a block of CUDA threads takes at once.
constexpr std::int64_t kWidths[] = {1, 7, 16, 520, 2051};
const RoutingCase kWays[] = {kRoutings[2], kRoutings[6], kRoutings[9]};

// With a gate: one product, rounded in f32.
TEST_P(ExpertRows, DispatchCopiesTheTokenOfEachRow) {
  for (const auto& c : kWays) {
    const Way way(c);
    for (const auto width : kWidths) {
      for (const bool gated : {false, true}) {
        SCOPED_TRACE(testing::Message() << c.name << " width " << width << (gated ? ", gated" : ""));
        const auto x = random_operand(GetParam(), Shape{c.shape.tokens, width}, 1);
        const auto rows = random_operand(GetParam(), Shape{way.row_count(), width}, 2);
        ops_->dispatch({.rows_QM = rows,
                        .x_NM = x,
                        .choices_Q = way.choices,
                        .gates_NC = gated ? way.gates.view() : TensorView{},
                        .choices_per_token = c.shape.choices});
        const Values from = x.values(), gates = way.gates.values();
        Values want(rows.size());
        for (std::int64_t q = 0; q < way.row_count(); ++q) {
          const double choice = way.routing.row_choices[oracle::index(q)];
          for (std::int64_t i = 0; choice >= 0 && i < width; ++i) {
            want[oracle::index(q * width + i)] = from[oracle::index(way.token_of(q) * width + i)] *
                                                 (gated ? gates[static_cast<std::size_t>(choice)] : 1.0);
          }
        }
        expect_within(
            rows, want, [&](std::size_t i) { return gated ? kUnitF32 * std::abs(want[i]) : 0.0; }, "rows");
      }
    }
  }
}

// A product and a sum for each choice, and the old value.
TEST_P(ExpertRows, CombineAddsTheRowsOfEachToken) {
  for (const auto& c : kWays) {
    const Way way(c);
    for (const auto width : kWidths) {
      for (const bool gated : {false, true}) {
        for (const auto write : {Write::overwrite, Write::accumulate}) {
          SCOPED_TRACE(testing::Message() << c.name << " width " << width << (gated ? ", gated" : ""));
          const auto rows = random_operand(GetParam(), Shape{way.row_count(), width}, 1);
          const auto x = random_operand(GetParam(), Shape{c.shape.tokens, width}, 2);
          const Values from = rows.values(), gates = way.gates.values();
          Values want = write == Write::accumulate ? x.values() : Values(x.size());
          Values magnitude = want;
          for (auto& v : magnitude) v = std::abs(v);
          for (std::size_t choice = 0; choice < way.routing.rows.size(); ++choice) {
            const auto row = static_cast<std::int64_t>(way.routing.rows[choice]);
            for (std::int64_t i = 0; row >= 0 && i < width; ++i) {
              const double term = from[oracle::index(row * width + i)] * (gated ? gates[choice] : 1.0);
              const auto at = choice / oracle::index(c.shape.choices) * oracle::index(width) + oracle::index(i);
              want[at] += term;
              magnitude[at] += std::abs(term);
            }
          }
          ops_->combine({.x_NM = x,
                         .rows_QM = rows,
                         .rows_NC = way.rows,
                         .gates_NC = gated ? way.gates.view() : TensorView{},
                         .write = write});
          const double relative = gamma(static_cast<double>(c.shape.choices) + 1.0);
          expect_within(
              x, want, [&](std::size_t i) { return relative * magnitude[i]; }, "x");
        }
      }
    }
  }
}

// A sum of `width` products in any order.
TEST_P(ExpertRows, GatesBackwardMultipliesGradientsWithRows) {
  for (const auto& c : kWays) {
    const Way way(c);
    for (const auto width : kWidths) {
      SCOPED_TRACE(testing::Message() << c.name << " width " << width);
      const auto dx = random_operand(GetParam(), Shape{c.shape.tokens, width}, 1);
      const auto rows = random_operand(GetParam(), Shape{way.row_count(), width}, 2);
      const auto dgates = random_operand(DType::f32, way.of_choices(), 3);
      ops_->gates_backward({.dgates_NC = dgates, .dx_NM = dx, .rows_QM = rows, .rows_NC = way.rows});
      const Values d = dx.values(), from = rows.values();
      Values want(dgates.size()), magnitude(dgates.size());
      for (std::size_t choice = 0; choice < want.size(); ++choice) {
        const auto row = static_cast<std::int64_t>(way.routing.rows[choice]);
        for (std::int64_t i = 0; row >= 0 && i < width; ++i) {
          const auto at = choice / oracle::index(c.shape.choices) * oracle::index(width) + oracle::index(i);
          const double term = d[at] * from[oracle::index(row * width + i)];
          want[choice] += term;
          magnitude[choice] += std::abs(term);
        }
      }
      const double relative = gamma(static_cast<double>(width));
      expect_within(
          dgates, want, [&](std::size_t i) { return relative * magnitude[i]; }, "dgates");
    }
  }
}

TEST_P(ExpertRows, GiveTheSameBitsInEveryCircumstance) {
  using Bytes = std::vector<std::vector<unsigned char>>;
  const auto& c = kRoutings[12];
  const std::int64_t width = 40;
  std::optional<Bytes> first;
  in_every_circumstance([&](const std::string& circumstance) {
    const auto logits = router_logits(c.shape, 1e-4);
    const RoutingOperands o(c, logits);
    ops_->route_forward(o.args);
    const auto x = random_operand(GetParam(), Shape{c.shape.tokens, width}, 2);
    const Operand rows(GetParam(), Shape{c.rule.parts * c.rule.part_rows, width});
    const Operand dgates(DType::f32, Shape{c.shape.tokens, c.shape.choices});
    const Operand dlogits(GetParam(), Shape{c.shape.tokens, c.shape.experts});
    ops_->dispatch({.rows_QM = rows,
                    .x_NM = x,
                    .choices_Q = o.choices,
                    .gates_NC = o.gates,
                    .choices_per_token = c.shape.choices});
    ops_->gates_backward({.dgates_NC = dgates, .dx_NM = x, .rows_QM = rows, .rows_NC = o.rows});
    ops_->route_backward({.dlogits_NE = dlogits,
                          .dgates_NC = dgates,
                          .logits_NE = logits,
                          .gates_NC = o.gates,
                          .experts_NC = o.experts,
                          .balance_scale = 0.01,
                          .rule = c.rule});
    ops_->combine({.x_NM = x, .rows_QM = rows, .rows_NC = o.rows, .gates_NC = o.gates, .write = Write::accumulate});
    Bytes bytes = o.bytes();
    for (const auto* operand : {&rows, &dgates, &dlogits, &x}) bytes.push_back(operand->bytes());
    if (!first) first = bytes;
    EXPECT_TRUE(bytes == *first) << circumstance;
  });
}

TEST_F(Routing, RefusesRulesAndOperandsThatDoNotFit) {
  const RoutingCase c{"fits", {24, 8, 2}, slots(2, 32, 4, 12, 12, Order::by_token, 2)};
  const auto logits = router_logits(c.shape, 1.0);
  const RoutingOperands o(c, logits);
  EXPECT_NO_THROW(ops_->route_forward(o.args));
  const auto refused = [&](const std::function<void(RouteForwardArgs&)>& spoil) {
    RouteForwardArgs args = o.args;
    spoil(args);
    EXPECT_THROW(ops_->route_forward(args), LogicFault);
  };
  refused([](RouteForwardArgs& a) { a.rule.parts = 3; });
  refused([](RouteForwardArgs& a) { a.rule.slots = 3; });
  refused([](RouteForwardArgs& a) { a.rule.group_tokens = 7; });
  refused([](RouteForwardArgs& a) { a.rule.seq_len = 7; });
  refused([&](RouteForwardArgs& a) { a.experts_NC = o.gates; });
  refused([&](RouteForwardArgs& a) { a.choices_Q = o.rows; });
  refused([&](RouteForwardArgs& a) { a.segments_E2 = o.dropped; });
  refused([&](RouteForwardArgs& a) { a.balance_B = o.dropped; });
  refused([&](RouteForwardArgs& a) { a.load_B = o.dropped; });
  refused([](RouteForwardArgs& a) { a.load_B = {}; });
  EXPECT_THROW(ops_->route_backward({.dlogits_NE = o.gates,
                                     .dgates_NC = o.gates,
                                     .logits_NE = logits,
                                     .gates_NC = o.gates,
                                     .experts_NC = o.experts,
                                     .rule = c.rule}),
               LogicFault);
  const Operand x(DType::f32, Shape{24, 5}), rows(DType::f32, Shape{64, 5}), wide(DType::f32, Shape{64, 6});
  EXPECT_THROW(ops_->dispatch({.rows_QM = wide, .x_NM = x, .choices_Q = o.choices, .choices_per_token = 2}),
               LogicFault);
  EXPECT_THROW(
      ops_->dispatch({.rows_QM = rows, .x_NM = x, .choices_Q = o.choices, .gates_NC = o.gates, .choices_per_token = 3}),
      LogicFault);
  EXPECT_THROW(ops_->combine({.x_NM = x, .rows_QM = wide, .rows_NC = o.rows}), LogicFault);
  EXPECT_THROW(ops_->combine({.x_NM = x, .rows_QM = rows, .rows_NC = o.choices}), LogicFault);
  EXPECT_THROW(ops_->gates_backward({.dgates_NC = o.dropped, .dx_NM = x, .rows_QM = rows, .rows_NC = o.rows}),
               LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
