#include "engine/layers/expert_feed_forward.h"

#include <utility>

#include "engine/core/error.h"
#include "engine/layers/dropout.h"
#include "workloads/spec/expert_rows.h"

namespace perfbench::engine {
namespace {

RoutingRule routing_rule(const spec::RunSpec& run) {
  const auto& moe = run.model.moe;
  const bool gshard = moe.routing == spec::MoeRouting::top2_gshard;
  return {.parts = run.mesh.ep(),
          .part_rows = spec::expert_rows(run),
          .slots = spec::expert_slots(moe, run.seq_len),
          .group_tokens = run.seq_len,
          .order = gshard ? RoutingRule::Order::by_choice : RoutingRule::Order::by_token,
          .seq_len = run.seq_len,
          .balance_choices = gshard ? 1 : moe.top_k};
}

}  // namespace

ExpertFeedForward::ExpertFeedForward(const LayerShared& shared, const LayerUnits& units)
    : FeedForwardBlock(shared, units),
      moe_(model_.moe),
      rule_(routing_rule(shared.run)),
      router_(units, "router"),
      up_(units.layer.place("experts.up.weight")),
      down_(units.layer.place("experts.down.weight")) {
  if (spec::is_gated(moe_.activation)) gate_ = units.layer.place("experts.gate.weight");
}

std::size_t ExpertFeedForward::parameters() const {
  return norm_.parameters() + router_.parameters() + (gate_ ? 3 : 2);
}

spec::Saved ExpertFeedForward::saved_name(FeedForwardValue value) const {
  using spec::Saved;
  switch (value) {
    case V::input:
      return Saved::out_proj;
    case V::gate:
      return Saved::moe_mlpwi_0;
    case V::up:
      return gate_ ? Saved::moe_mlpwi_1 : Saved::moe_mlpwi_0;
    case V::output:
      return Saved::moe_mlpwo;
    case V::gate_up:
      throw LogicFault("a block of experts has no such value");
    case V::statistics:
    case V::logits:
    case V::choice_gates:
    case V::experts:
    case V::rows:
    case V::choices:
    case V::segments:
    case V::count:
      break;
  }
  return Saved::norm_statistics;
}

// Each rank along tp computes the logits of its rows and receives all others, so that all have the same logits. If
// ranks chose different experts for a token, because of the last bit of a product, they would add parts of different
// sums.
void ExpertFeedForward::make_logits(const LayerWeights& weights, Values& v, TensorView normed_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  v[V::logits] = context.activation_f32(named("router_logits"), {tp.ranks() * tp.rows(), moe_.n_experts});
  const Shape own_logits{tp.own_tokens(), moe_.n_experts};
  if (tp.own_tokens() > 0) {
    linear_forward(context, weights, router_, tp.rows_of(v[V::logits]).slice(0, own_logits),
                   normed_RM.slice(0, Shape{tp.own_tokens(), model_.d_model}), kPart);
  }
  tp.gather(v[V::logits].view());
}

void ExpertFeedForward::route(const LayerWeights& weights, Values& v, TensorView normed_RM) const {
  const Context& context = shared_.context;
  const std::int64_t tokens = shared_.tensor_parallel.tokens();
  const Shape of_choices{tokens, moe_.top_k};
  const auto made = [&](FeedForwardValue value, const char* name, DType dtype, Shape shape) {
    v[value] = Tensor(context.memory, {named(name), MemoryScope::activations, dtype, shape});
  };
  make_logits(weights, v, normed_RM);
  made(V::choice_gates, "choice_gates", DType::f32, of_choices);
  made(V::experts, "experts", DType::i32, of_choices);
  made(V::rows, "expert_rows", DType::i32, of_choices);
  made(V::choices, "row_choices", DType::i32, {rule_.parts * rule_.part_rows});
  made(V::segments, "expert_segments", DType::i32, {rule_.parts, moe_.n_experts / rule_.parts, 2});
  // A recomputation already knows them.
  const bool first = context.ops.pass() == Pass::first;
  const Shape of_sequences{tokens / rule_.seq_len};
  const Tensor balance = first ? context.activation_f32(named("expert_balance"), of_sequences) : Tensor();
  const Tensor load = first ? context.activation_f32(named("expert_load"), of_sequences) : Tensor();
  const Tensor dropped = first ? context.activation_f32(named("dropped_choices"), {moe_.n_experts}) : Tensor();
  context.ops.route_forward({.logits_NE = logits_NE(v),
                             .gates_NC = v[V::choice_gates],
                             .experts_NC = v[V::experts],
                             .rows_NC = v[V::rows],
                             .choices_Q = v[V::choices],
                             .segments_E2 = v[V::segments].view().reshaped({moe_.n_experts, 2}),
                             .balance_B = balance,
                             .load_B = load,
                             .dropped_E = dropped,
                             .rule = rule_});
  if (first) {
    context.ops.sum(shared_.experts.balance, balance, Write::accumulate);
    context.ops.sum(shared_.experts.load, load, Write::accumulate);
    context.ops.sum(shared_.experts.dropped, dropped, Write::accumulate);
  }
  // With slots all segments are equal.
  if (rule_.dropless()) v[V::segments] = exchanged(std::move(v[V::segments]), "expert_segments_received");
}

Tensor ExpertFeedForward::exchanged(Tensor rows, const char* name) const {
  if (rule_.parts == 1) return rows;
  const Context& context = shared_.context;
  const TensorView& in = rows;
  Tensor received(context.memory, {named(name), MemoryScope::activations, in.dtype, in.shape});
  PhaseClock::Scope scope(context.clock, Phase::exposed_comm);
  context.collectives.all_to_all(Axis::ep, received, in, Lane::in_line).wait();
  return received;
}

Tensor ExpertFeedForward::sent(const Values& v, TensorView x_NM, TensorView gates_NC, const char* name) const {
  const Context& context = shared_.context;
  Tensor rows = context.activation(named(name), {rule_.parts * rule_.part_rows, model_.d_model});
  context.ops.dispatch({.rows_QM = rows,
                        .x_NM = x_NM,
                        .choices_Q = v[V::choices],
                        .gates_NC = gates_NC,
                        .choices_per_token = moe_.top_k});
  return exchanged(std::move(rows), name);
}

ExpertProductArgs ExpertFeedForward::product_args(const Values& v) const {
  // Without dropped rows, only part of the rows sent are filled: their number over all ranks equals that of choices.
  return {.segments_PX2 = v[V::segments],
          .slots = rule_.dropless() ? 0 : rule_.part_rows / (moe_.n_experts / rule_.parts),
          .counted_rows = rule_.dropless() ? v[V::rows].view().elements() : rule_.parts * rule_.part_rows};
}

void ExpertFeedForward::product(const LayerWeights& weights, const Values& v, const ParameterPlace& weight,
                                TensorView y, TensorView x) const {
  auto args = product_args(v);
  args.kind = ExpertProductArgs::Kind::forward;
  args.a = x;
  args.b = weights.layer.weight(weight);
  args.c = y;
  shared_.context.ops.expert_product(args);
}

void ExpertFeedForward::backward_weight(const LayerGradients& gradients, const Values& v, const ParameterPlace& weight,
                                        TensorView dy, TensorView x) const {
  const TensorView dweight = gradients.layer.gradient(weight);
  if (!dweight.defined()) return;
  auto args = product_args(v);
  args.kind = ExpertProductArgs::Kind::weight_gradient;
  args.a = dy;
  args.b = x;
  args.c = dweight;
  args.write = gradients.layer.first_write();
  args.additions = gradients.layer.additions();
  shared_.context.ops.expert_product(args);
}

void ExpertFeedForward::backward_input(const LayerWeights& weights, const Values& v, const ParameterPlace& weight,
                                       TensorView dx, TensorView dy, Write write) const {
  auto args = product_args(v);
  args.kind = ExpertProductArgs::Kind::input_gradient;
  args.a = dy;
  args.b = weights.layer.weight(weight);
  args.c = dx;
  args.write = write;
  shared_.context.ops.expert_product(args);
}

Tensor ExpertFeedForward::compute(const LayerWeights& weights, Values& v, Tensor normed) const {
  if (!normed.defined()) return {};
  const auto& tp = shared_.tensor_parallel;
  if (!v.has(V::logits)) route(weights, v, tp.rows_of(normed));
  if (has_projections(v)) return {};
  const Tensor rows = sent(v, tp.gather(normed.view()), {}, "expert_inputs");
  normed.reset();
  const auto project = [&](FeedForwardValue value, const char* name, const ParameterPlace& weight) {
    if (v.has(value)) return;
    v[value] = shared_.context.activation(named(name), {rule_.parts * rule_.part_rows, weight.shape[1]});
    product(weights, v, weight, v[value], rows);
  };
  if (gate_) project(V::gate, "moe_mlpwi_0", *gate_);
  project(V::up, gate_ ? "moe_mlpwi_1" : "moe_mlpwi_0", up_);
  return {};
}

Tensor ExpertFeedForward::activated(const Values& v) const {
  Tensor product_QF = shared_.context.workspace(named("expert_product"), v[V::up].view().shape);
  shared_.context.ops.activation_forward(
      {.product_NF = product_QF, .gate_NF = v[V::gate], .up_NF = v[V::up], .kind = moe_.activation});
  return product_QF;
}

Tensor ExpertFeedForward::made_by_experts(const LayerWeights& weights, const Values& v, TensorView product_QF) const {
  Tensor rows = shared_.context.activation(named("moe_mlpwo"), {rule_.parts * rule_.part_rows, model_.d_model});
  product(weights, v, down_, rows, product_QF);
  return rows;
}

Tensor ExpertFeedForward::finish(const LayerWeights& weights, Values& v, Tensor, Saved& saved) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  {
    Tensor product_QF = activated(v);
    put_away({V::gate, V::up}, v, saved);
    Tensor made = made_by_experts(weights, v, product_QF);
    product_QF.reset();
    v[V::output] = exchanged(std::move(made), "moe_mlpwo");
  }
  Tensor y_RM = context.activation(named("layer_output"), Shape{tp.rows(), model_.d_model});
  PartialSums sums(context, tp, named("down_parts"), y_RM);
  context.ops.combine(
      {.x_NM = sums.tokens_NM(), .rows_QM = v[V::output], .rows_NC = v[V::rows], .gates_NC = v[V::choice_gates]});
  put_away({V::statistics, V::logits, V::choice_gates, V::experts, V::rows, V::choices, V::segments, V::output}, v,
           saved);
  sums.finish();
  drop_addition(shared_, named("feed_forward"), y_RM);
  context.ops.add(y_RM, v[V::input], y_RM);
  put_away({V::input}, v, saved);
  return y_RM;
}

void ExpertFeedForward::backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, Tensor,
                                 TensorView dy_RM) const {
  const Context& context = shared_.context;
  Tensor product_QF = activated(v);
  if (!v.has(V::output)) {
    const RangeSpan range(context.trace, "recompute");
    RecomputePass recompute(context.ops);
    v[V::output] = exchanged(made_by_experts(weights, v, product_QF), "moe_mlpwo");
  }
  const Tensor dgates_NC = context.activation_f32(named("dchoice_gates"), v[V::rows].view().shape);
  {
    Tensor dropped_dy;
    Tensor gathered_dy;
    const TensorView dy_NM = shared_.tensor_parallel.gather(
        drop_addition_backward(shared_, named("feed_forward"), dy_RM, dropped_dy), gathered_dy, named("dlayer_output"));
    context.ops.gates_backward(
        {.dgates_NC = dgates_NC, .dx_NM = dy_NM, .rows_QM = v[V::output], .rows_NC = v[V::rows]});
    v[V::output].reset();
    const Tensor drows_QM = sent(v, dy_NM, v[V::choice_gates], "dexpert_outputs");
    gathered_dy.reset();
    dropped_dy.reset();
    backward_weight(gradients, v, down_, drows_QM, product_QF);
    // The product is no longer needed: its gradient takes its buffer.
    backward_input(weights, v, down_, product_QF, drows_QM, Write::overwrite);
  }
  context.ops.activation_backward(
      {.gate_NF = v[V::gate], .up_NF = v[V::up], .dproduct_NF = product_QF, .kind = moe_.activation});
  product_QF.reset();
  backward_up(weights, gradients, v, dgates_NC, dy_RM);
}

// On return `gate` and `up` hold the gradients of the projections.
void ExpertFeedForward::backward_up(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                    TensorView dgates_NC, TensorView dy_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const Tensor buffer = tp.buffer(named("mlp_norm"));
  const TensorView normed_NM = normalise_again(weights, v, buffer);
  const Tensor dlogits_NE = context.workspace(named("drouter_logits"), logits_NE(v).shape);
  const double balance_weight = moe_.load_balance_weight / static_cast<double>(shared_.run.global_batch);
  context.ops.route_backward({.dlogits_NE = dlogits_NE,
                              .dgates_NC = dgates_NC,
                              .logits_NE = logits_NE(v),
                              .gates_NC = v[V::choice_gates],
                              .experts_NC = v[V::experts],
                              .balance_scale = tp.first() ? balance_weight : 0.0,
                              .rule = rule_});
  const OutputGradient drouter =
      linear_backward_weight(context, weights, gradients, router_, dlogits_NE, normed_NM, kPart);
  Tensor rows_QM = sent(v, normed_NM, {}, "expert_inputs");
  if (gate_) backward_weight(gradients, v, *gate_, v[V::gate], rows_QM);
  backward_weight(gradients, v, up_, v[V::up], rows_QM);
  // This was the last read of the rows, and then of the normalised input: their gradients take their buffers.
  backward_input(weights, v, up_, rows_QM, v[V::up], Write::overwrite);
  if (gate_) backward_input(weights, v, *gate_, rows_QM, v[V::gate], Write::accumulate);
  v[V::gate].reset();
  v[V::up].reset();
  rows_QM = exchanged(std::move(rows_QM), "dexpert_inputs");
  const TensorView dnormed_RM = tp.rows_of(buffer);
  PartialSums sums(context, tp, named("dmlp_norm"), dnormed_RM, buffer);
  context.ops.combine({.x_NM = sums.tokens_NM(), .rows_QM = rows_QM, .rows_NC = v[V::rows]});
  linear_backward_input(context, weights, router_, sums.tokens_NM(), drouter, Write::accumulate, kPart);
  sums.finish();
  backward_norm(weights, gradients, v, dnormed_RM, dy_RM);
}

}  // namespace perfbench::engine
