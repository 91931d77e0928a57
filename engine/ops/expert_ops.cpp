// The public operations of experts: they check and count, then call the backend.
#include <limits>
#include <string>

#include "engine/ops/expert_operations.h"
#include "engine/ops/operand_checks.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {
namespace {

bool is(const TensorView& t, DType dtype, const Shape& shape) {
  return t.dtype == dtype && t.shape == shape;
}

void check_rule(const RoutingRule& rule, std::int64_t tokens, std::int64_t experts, std::int64_t choices) {
  const bool divides = rule.parts > 0 && experts % rule.parts == 0 && rule.part_rows > 0 && rule.seq_len > 0 &&
                       tokens % rule.seq_len == 0;
  const bool filled =
      rule.dropless() || (rule.group_tokens > 0 && tokens % rule.group_tokens == 0 &&
                          experts / rule.parts * (tokens / rule.group_tokens) * rule.slots == rule.part_rows);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool numbered = tokens * choices <= kMost && rule.parts * rule.part_rows <= kMost;
  const bool balances = rule.balance_choices >= 1 && rule.balance_choices <= choices;
  if (divides && filled && numbered && balances) return;
  throw LogicFault("routing: " + std::to_string(tokens) + " tokens in sequences of " + std::to_string(rule.seq_len) +
                   " and groups of " + std::to_string(rule.group_tokens) + ", " + std::to_string(experts) +
                   " experts in " + std::to_string(rule.parts) + " parts of " + std::to_string(rule.part_rows) +
                   " rows, " + std::to_string(rule.slots) + " slots, " + std::to_string(rule.balance_choices) + " of " +
                   std::to_string(choices) + " choices balanced: they do not fit");
}

// The rows of one part, and their widths on both sides of the weights.
struct ExpertShape {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
};

ExpertShape check_product(const ExpertProductArgs& args) {
  using Kind = ExpertProductArgs::Kind;
  const bool gradient = args.kind == Kind::weight_gradient;
  const TensorView& weight = gradient ? args.c : args.b;
  const TensorView& inputs = args.kind == Kind::forward ? args.a : gradient ? args.b : args.c;
  const TensorView& outputs = args.kind == Kind::forward ? args.c : args.a;
  const std::initializer_list<RowsView> operands{args.a, args.b, args.c, args.segments_PX2};
  require(weight.shape.rank() == 3 && inputs.shape.rank() == 2 && outputs.shape.rank() == 2, "expert_product",
          "weights are [X, O, I], rows [Q, I] and [Q, O]", operands);
  const ExpertShape shape{rows(inputs), weight.shape[1], weight.shape[2]};
  require(columns(inputs) == shape.inputs && outputs.shape == Shape{shape.rows, shape.outputs}, "expert_product",
          "weights are [X, O, I], rows [Q, I] and [Q, O]", operands);
  require(
      is_float(args.a.dtype) && args.a.dtype == args.b.dtype && args.c.dtype == (gradient ? DType::f32 : args.a.dtype),
      "expert_product", "one type, of a weight's gradient f32", operands);
  const auto& segments = args.segments_PX2;
  require(segments.dtype == DType::i32 && segments.shape.rank() == 3 && segments.shape[1] == weight.shape[0] &&
              segments.shape[2] == 2 && shape.rows % segments.shape[0] == 0 &&
              (args.slots == 0 || segments.shape[0] * weight.shape[0] * args.slots == shape.rows),
          "expert_product", "segments are i32 [P, X, 2], of slots that fill all rows", operands);
  require(args.additions == Additions::none || (args.write == Write::overwrite && gradient), "expert_product",
          "additions follow the gradient of a weight that is overwritten", operands);
  return shape;
}

}  // namespace

void Ops::route_forward(const RouteForwardArgs& args) {
  const auto& logits = args.logits_NE;
  const std::initializer_list<RowsView> operands{logits,         args.gates_NC,  args.experts_NC,
                                                 args.rows_NC,   args.choices_Q, args.segments_E2,
                                                 args.balance_B, args.load_B,    args.dropped_E};
  require(logits.shape.rank() == 2 && logits.dtype == DType::f32 && args.gates_NC.shape.rank() == 2, "route_forward",
          "logits are f32 [N, E], gates [N, C]", operands);
  const std::int64_t experts = columns(logits);
  const Shape of_choices{rows(logits), columns(args.gates_NC)};
  check_rule(args.rule, rows(logits), experts, columns(args.gates_NC));
  require(is(args.gates_NC, DType::f32, of_choices) && is(args.experts_NC, DType::i32, of_choices) &&
              is(args.rows_NC, DType::i32, of_choices) && columns(args.gates_NC) <= experts,
          "route_forward", "gates are f32, experts and rows i32 [N, C]", operands);
  require(is(args.choices_Q, DType::i32, Shape{args.rule.parts * args.rule.part_rows}) &&
              is(args.segments_E2, DType::i32, Shape{experts, 2}),
          "route_forward", "choices are i32 [Q], segments i32 [E, 2]", operands);
  const Shape of_sequences{rows(logits) / args.rule.seq_len};
  const bool not_asked = !args.balance_B.defined() && !args.load_B.defined() && !args.dropped_E.defined();
  require(not_asked || (is(args.balance_B, DType::f32, of_sequences) && is(args.load_B, DType::f32, of_sequences) &&
                        is(args.dropped_E, DType::f32, Shape{experts})),
          "route_forward", "balance and load are f32 [B], dropped f32 [E], or all are absent", operands);
  const OpSpan span = begin(spec::TraceOp::route_forward,
                            {.read_bytes = bytes_of(logits),
                             .written_bytes = bytes_of(args.gates_NC, args.experts_NC, args.rows_NC, args.choices_Q,
                                                       args.segments_E2, args.balance_B, args.load_B, args.dropped_E)});
  do_route_forward(args);
}

void Ops::route_backward(const RouteBackwardArgs& args) {
  const auto& logits = args.logits_NE;
  const std::initializer_list<RowsView> operands{args.dlogits_NE, args.dgates_NC, logits, args.gates_NC,
                                                 args.experts_NC};
  require(logits.shape.rank() == 2 && logits.dtype == DType::f32 && args.dlogits_NE.shape == logits.shape &&
              is_float(args.dlogits_NE.dtype),
          "route_backward", "logits are f32 [N, E], dlogits like them", operands);
  require(args.gates_NC.shape.rank() == 2 && rows(args.gates_NC) == rows(logits) &&
              is(args.dgates_NC, DType::f32, args.gates_NC.shape) && args.gates_NC.dtype == DType::f32 &&
              is(args.experts_NC, DType::i32, args.gates_NC.shape),
          "route_backward", "gates and their gradient are f32, experts i32 [N, C]", operands);
  require(args.rule.seq_len > 0 && rows(logits) % args.rule.seq_len == 0 &&
              args.rule.balance_choices <= columns(args.gates_NC),
          "route_backward", "N is a multiple of seq_len, C at least what is balanced", operands);
  const OpSpan span = begin(spec::TraceOp::route_backward,
                            {.read_bytes = bytes_of(args.dgates_NC, logits, args.gates_NC, args.experts_NC),
                             .written_bytes = bytes_of(args.dlogits_NE)});
  do_route_backward(args);
}

void Ops::dispatch(const DispatchArgs& args) {
  const auto& x = args.x_NM;
  const auto& out = args.rows_QM;
  require(x.shape.rank() == 2 && is_float(x.dtype) && out.shape.rank() == 2 && out.dtype == x.dtype &&
              columns(out) == columns(x) && is(args.choices_Q, DType::i32, Shape{rows(out)}),
          "dispatch", "rows [Q, M] of x [N, M], choices i32 [Q]", {out, x, args.choices_Q});
  require(args.choices_per_token > 0 &&
              (!args.gates_NC.defined() || is(args.gates_NC, DType::f32, Shape{rows(x), args.choices_per_token})),
          "dispatch", "gates are f32 [N, C]", {x, args.gates_NC});
  const OpSpan span = begin(
      spec::TraceOp::dispatch,
      {.form = {x.dtype}, .read_bytes = bytes_of(x, args.choices_Q, args.gates_NC), .written_bytes = bytes_of(out)});
  do_dispatch(args);
}

void Ops::combine(const CombineArgs& args) {
  const auto& x = args.x_NM;
  const std::initializer_list<RowsView> operands{x, args.rows_QM, args.rows_NC, args.gates_NC};
  require(x.shape.rank() == 2 && is_float(x.dtype) && args.rows_QM.shape.rank() == 2 && args.rows_QM.dtype == x.dtype &&
              columns(args.rows_QM) == columns(x) && args.rows_NC.shape.rank() == 2 &&
              args.rows_NC.dtype == DType::i32 && rows(args.rows_NC) == rows(x) &&
              (!args.gates_NC.defined() || is(args.gates_NC, DType::f32, args.rows_NC.shape)),
          "combine", "x is [N, M] of rows [Q, M], rows i32 and gates f32 [N, C]", operands);
  const OpSpan span = begin(spec::TraceOp::combine, {.form = {x.dtype},
                                                     .read_bytes = bytes_of(args.rows_QM, args.rows_NC, args.gates_NC) +
                                                                   held_bytes(x, args.write),
                                                     .written_bytes = bytes_of(x)});
  do_combine(args);
}

void Ops::gates_backward(const GatesBackwardArgs& args) {
  const auto& dx = args.dx_NM;
  const std::initializer_list<RowsView> operands{args.dgates_NC, dx, args.rows_QM, args.rows_NC};
  require(dx.shape.rank() == 2 && is_float(dx.dtype) && args.rows_QM.shape.rank() == 2 &&
              args.rows_QM.dtype == dx.dtype && columns(args.rows_QM) == columns(dx) &&
              args.rows_NC.shape.rank() == 2 && args.rows_NC.dtype == DType::i32 && rows(args.rows_NC) == rows(dx) &&
              is(args.dgates_NC, DType::f32, args.rows_NC.shape),
          "gates_backward", "dx is [N, M], rows [Q, M], i32 [N, C], dgates f32 [N, C]", operands);
  const OpSpan span = begin(spec::TraceOp::gates_backward, {.form = {dx.dtype},
                                                            .read_bytes = bytes_of(dx, args.rows_QM, args.rows_NC),
                                                            .written_bytes = bytes_of(args.dgates_NC)});
  do_gates_backward(args);
}

void Ops::expert_product(const ExpertProductArgs& args) {
  const auto shape = check_product(args);
  const std::int64_t flops = 2 * args.counted_rows * shape.outputs * shape.inputs;
  count(FlopPart::feed_forward, flops);
  const OpSpan span = begin(spec::TraceOp::expert_product,
                            {.form = {args.a.dtype, {}, {args.counted_rows, shape.outputs, shape.inputs}},
                             .flops = flops,
                             .read_bytes = bytes_of(args.a, args.b, args.segments_PX2) + held_bytes(args.c, args.write),
                             .written_bytes = bytes_of(args.c)});
  do_expert_product(args);
}

}  // namespace perfbench::engine
