#include "engine/layers/decoder_layer.h"

#include <utility>

namespace perfbench::engine {
namespace {

constexpr auto kProjection = FlopPart::attention_projection;
constexpr auto kFeedForward = FlopPart::feed_forward;

class RecomputePass {
 public:
  explicit RecomputePass(Ops& ops) : ops_(ops) { ops_.set_pass(Pass::recompute); }
  ~RecomputePass() { ops_.set_pass(Pass::first); }
  RecomputePass(const RecomputePass&) = delete;
  RecomputePass& operator=(const RecomputePass&) = delete;

 private:
  Ops& ops_;
};

}  // namespace

DecoderLayer::Parameters::Parameters(const UnitLayout& unit, const spec::ModelSpec& model)
    : attention_norm(unit, "attention_norm"),
      query(unit, "query"),
      key(unit, "key"),
      value(unit, "value"),
      out(unit, "out"),
      mlp_norm(unit, "mlp_norm"),
      up(unit, "up"),
      down(unit, "down") {
  if (spec::is_gated(model.activation)) gate.emplace(unit, "gate");
  std::size_t found = attention_norm.parameters() + mlp_norm.parameters();
  for (const auto* linear : {&query, &key, &value, &out, gate ? &*gate : nullptr, &up, &down}) {
    if (linear != nullptr) found += linear->parameters();
  }
  unit.require_found(found);
}

DecoderLayer::DecoderLayer(const Shared& shared, const UnitLayout& unit)
    : shared_(shared), model_(shared.run.model), parameters_(unit, model_), name_(unit.name) {}

AttentionDims DecoderLayer::attention_dims() const {
  return {.batch = shared_.run.microbatch(),
          .seq_len = shared_.run.seq_len,
          .n_heads = model_.n_heads,
          .n_kv_heads = model_.n_kv_heads,
          .head_dim = model_.head_dim};
}

void DecoderLayer::put_away(LayerTensor tensor, LayerValues& v) {
  const auto place = shared_.remat[saved_name(tensor, model_.activation)];
  saved_.put_away(tensor, std::move(v[tensor]), place, shared_.context, name_);
}

Tensor DecoderLayer::forward(const GatheredUnit& weights, Tensor x_NM) {
  const Context& context = shared_.context;
  LayerValues v;
  v[LayerTensor::layer_input] = std::move(x_NM);
  compute_attention(weights, v);
  for (const auto t : {LayerTensor::attention_statistics, LayerTensor::query, LayerTensor::key, LayerTensor::value,
                       LayerTensor::attention_weights, LayerTensor::logsumexp}) {
    put_away(t, v);
  }
  const TensorView missing_NM = compute_out_projection(weights, v);
  put_away(LayerTensor::context, v);
  Tensor normed_NM = compute_mlp_norm(weights, v, missing_NM);
  put_away(LayerTensor::layer_input, v);
  Tensor product_NF = compute_feed_forward(weights, v, std::move(normed_NM));
  put_away(LayerTensor::mlp_statistics, v);
  if (!product_NF.defined()) {
    product_NF = feed_forward_buffer();
    activate(v, product_NF);
  }
  put_away(LayerTensor::gate, v);
  put_away(LayerTensor::up, v);
  Tensor y_NM = context.activation(named("layer_output"), Shape{tokens(), model_.d_model});
  linear_forward(context, weights, parameters_.down, y_NM, product_NF, kFeedForward);
  // The norm that follows is the next layer's, with weights of another unit and a recording of its own, and the sum's
  // place is this layer's policy's to choose: here the sum takes a pass of its own.
  context.ops.add(y_NM, v[LayerTensor::residual], y_NM);
  put_away(LayerTensor::residual, v);
  return y_NM;
}

void DecoderLayer::compute_attention(const GatheredUnit& weights, LayerValues& v) const {
  const Context& context = shared_.context;
  const std::int64_t n = tokens();
  const bool missing_projection = !v.has(LayerTensor::query) || !v.has(LayerTensor::key) || !v.has(LayerTensor::value);
  if (!v.has(LayerTensor::attention_statistics) || missing_projection) {
    Tensor normed_NM = context.workspace(named("attention_norm"), Shape{n, model_.d_model});
    if (v.has(LayerTensor::attention_statistics)) {
      context.ops.norm_apply(norm_forward_args(model_, weights, parameters_.attention_norm, normed_NM,
                                               v[LayerTensor::attention_statistics], v[LayerTensor::layer_input]));
    } else {
      v[LayerTensor::attention_statistics] = norm_statistics(context, model_, named("attention_statistics"), n);
      context.ops.norm_forward(norm_forward_args(model_, weights, parameters_.attention_norm, normed_NM,
                                                 v[LayerTensor::attention_statistics], v[LayerTensor::layer_input]));
    }
    const auto project = [&](LayerTensor tensor, const char* name, const Linear& linear, std::int64_t heads) {
      if (v.has(tensor)) return;
      v[tensor] = context.activation(named(name), Shape{n, heads * model_.head_dim});
      linear_forward(context, weights, linear, v[tensor], normed_NM, kProjection);
      if (tensor == LayerTensor::value || !shared_.rope_cos_sin_TD.defined()) return;
      context.ops.rope({.x = v[tensor],
                        .cos_sin_TD = shared_.rope_cos_sin_TD,
                        .head_dim = model_.head_dim,
                        .layout = model_.position.rope_layout,
                        .direction = Direction::forward});
    };
    project(LayerTensor::query, "query", parameters_.query, model_.n_heads);
    project(LayerTensor::key, "key", parameters_.key, model_.n_kv_heads);
    project(LayerTensor::value, "value", parameters_.value, model_.n_kv_heads);
  }
  const auto d = attention_dims();
  const bool dot_product = shared_.run.attention == spec::AttentionKind::dot_product;
  const bool missing_weights = dot_product && !v.has(LayerTensor::attention_weights);
  if (v.has(LayerTensor::context) && v.has(LayerTensor::logsumexp) && !missing_weights) return;
  // The parts of attention come out of one operation; those that are there are written again with the same bits.
  const auto want = [&](LayerTensor tensor, Tensor&& made) {
    if (!v.has(tensor)) v[tensor] = std::move(made);
  };
  if (!v.has(LayerTensor::context))
    want(LayerTensor::context, context.activation(named("context"), v[LayerTensor::query].view().shape));
  if (!v.has(LayerTensor::logsumexp)) {
    want(LayerTensor::logsumexp, context.activation_f32(named("logsumexp"), Shape{d.batch, d.n_heads, d.seq_len}));
  }
  if (missing_weights) {
    want(LayerTensor::attention_weights,
         context.activation(named("attention_weights"), Shape{d.batch, d.n_heads, d.seq_len, d.seq_len}));
  }
  context.ops.attention_forward({.context = v[LayerTensor::context],
                                 .logsumexp_BHT = v[LayerTensor::logsumexp],
                                 .weights_BHTT = v[LayerTensor::attention_weights],
                                 .query = v[LayerTensor::query],
                                 .key = v[LayerTensor::key],
                                 .value = v[LayerTensor::value],
                                 .dims = d,
                                 .kind = shared_.run.attention});
}

TensorView DecoderLayer::compute_out_projection(const GatheredUnit& weights, LayerValues& v) const {
  if (v.has(LayerTensor::residual)) return {};
  const Context& context = shared_.context;
  v[LayerTensor::residual] = context.activation(named("out_proj"), Shape{tokens(), model_.d_model});
  linear_forward(context, weights, parameters_.out, v[LayerTensor::residual], v[LayerTensor::context], kProjection);
  return v[LayerTensor::layer_input];
}

Tensor DecoderLayer::compute_mlp_norm(const GatheredUnit& weights, LayerValues& v, TensorView missing_NM) const {
  const Context& context = shared_.context;
  const TensorView residual_NM = v[LayerTensor::residual];
  const bool has_statistics = v.has(LayerTensor::mlp_statistics);
  const bool missing_gate = spec::is_gated(model_.activation) && !v.has(LayerTensor::gate);
  if (has_statistics && v.has(LayerTensor::up) && !missing_gate) {
    // A policy that keeps what follows the norm and not the sum before it: there is no norm to add it in.
    if (missing_NM.defined()) context.ops.add(residual_NM, missing_NM, residual_NM);
    return {};
  }
  const std::int64_t n = tokens();
  Tensor normed_NM = context.workspace(named("mlp_norm"), Shape{n, model_.d_model});
  if (!has_statistics) v[LayerTensor::mlp_statistics] = norm_statistics(context, model_, named("mlp_statistics"), n);
  NormForwardArgs args =
      norm_forward_args(model_, weights, parameters_.mlp_norm, normed_NM, v[LayerTensor::mlp_statistics], residual_NM);
  args.residual_NM = missing_NM;
  if (has_statistics) {
    context.ops.norm_apply(args);
  } else {
    context.ops.norm_forward(args);
  }
  return normed_NM;
}

Tensor DecoderLayer::compute_feed_forward(const GatheredUnit& weights, LayerValues& v, Tensor normed_NM) const {
  const Context& context = shared_.context;
  const bool gated = spec::is_gated(model_.activation);
  const auto missing = [&](LayerTensor tensor, const char* name) {
    if (v.has(tensor)) return false;
    v[tensor] = context.activation(named(name), Shape{tokens(), model_.d_ff});
    return true;
  };
  if (gated && missing(LayerTensor::gate, "mlpwi_0")) {
    linear_forward(context, weights, *parameters_.gate, v[LayerTensor::gate], normed_NM, kFeedForward);
  }
  if (!missing(LayerTensor::up, gated ? "mlpwi_1" : "mlpwi_0")) return {};
  if (!fuses_activation()) {
    linear_forward(context, weights, parameters_.up, v[LayerTensor::up], normed_NM, kFeedForward);
    return {};
  }
  Tensor product_NF = feed_forward_buffer();
  linear_gelu_forward(context, weights, parameters_.up, product_NF, v[LayerTensor::up], normed_NM, kFeedForward);
  return product_NF;
}

Tensor DecoderLayer::feed_forward_buffer() const {
  return shared_.context.workspace(named("mlp_product"), Shape{tokens(), model_.d_ff});
}

void DecoderLayer::activate(const LayerValues& v, TensorView product_NF) const {
  shared_.context.ops.activation_forward({.product_NF = product_NF,
                                          .gate_NF = v[LayerTensor::gate],
                                          .up_NF = v[LayerTensor::up],
                                          .kind = model_.activation});
}

Tensor DecoderLayer::backward(const GatheredUnit& weights, const GradientTarget& gradients, Tensor dy_NM) {
  LayerValues v = saved_.take();
  Tensor product_NF;
  {
    const RangeSpan range(shared_.context.trace, "recompute");
    RecomputePass recompute(shared_.context.ops);
    compute_attention(weights, v);
    const TensorView missing_NM = compute_out_projection(weights, v);
    product_NF = compute_feed_forward(weights, v, compute_mlp_norm(weights, v, missing_NM));
  }
  if (!product_NF.defined()) product_NF = feed_forward_buffer();
  // Also where it came with the projection just now: that one is of the sum before its rounding, and policies that kept
  // the rounded sum could not have the same bits.
  activate(v, product_NF);
  feed_forward_backward(weights, gradients, v, std::move(product_NF), dy_NM);
  attention_backward(weights, gradients, v, dy_NM);
  return dy_NM;
}

// dy_NM becomes the gradient by the residual sum.
void DecoderLayer::feed_forward_backward(const GatheredUnit& weights, const GradientTarget& gradients, LayerValues& v,
                                         Tensor product_NF, const Tensor& dy_NM) const {
  const Context& context = shared_.context;
  const bool gated = spec::is_gated(model_.activation);
  linear_backward_weight(context, gradients, parameters_.down, dy_NM, product_NF, kFeedForward);
  // The product is no longer needed: its buffer takes its gradient, or that of what it was made of.
  if (fuses_activation()) {
    linear_gelu_backward_input(context, weights, parameters_.down, product_NF, v[LayerTensor::up], dy_NM, kFeedForward);
    v[LayerTensor::up] = std::move(product_NF);
  } else {
    linear_backward_input(context, weights, parameters_.down, product_NF, dy_NM, Write::overwrite, kFeedForward);
    context.ops.activation_backward({.gate_NF = v[LayerTensor::gate],
                                     .up_NF = v[LayerTensor::up],
                                     .dproduct_NF = product_NF,
                                     .kind = model_.activation});
    product_NF.reset();
  }
  const TensorView dgate_NF = v[LayerTensor::gate];
  const TensorView dup_NF = v[LayerTensor::up];
  Tensor normed_NM = context.workspace(named("mlp_norm"), Shape{tokens(), model_.d_model});
  context.ops.norm_apply(norm_forward_args(model_, weights, parameters_.mlp_norm, normed_NM,
                                           v[LayerTensor::mlp_statistics], v[LayerTensor::residual]));
  if (gated) linear_backward_weight(context, gradients, *parameters_.gate, dgate_NF, normed_NM, kFeedForward);
  linear_backward_weight(context, gradients, parameters_.up, dup_NF, normed_NM, kFeedForward);
  const TensorView dnormed_NM = normed_NM;
  linear_backward_input(context, weights, parameters_.up, dnormed_NM, dup_NF, Write::overwrite, kFeedForward);
  if (gated)
    linear_backward_input(context, weights, *parameters_.gate, dnormed_NM, dgate_NF, Write::accumulate, kFeedForward);
  v[LayerTensor::gate].reset();
  v[LayerTensor::up].reset();
  norm_backward(
      context, model_, weights, gradients, parameters_.mlp_norm,
      {.dx = dy_NM, .dy = dnormed_NM, .x = v[LayerTensor::residual], .statistics = v[LayerTensor::mlp_statistics]},
      Write::accumulate);
  v[LayerTensor::residual].reset();
  v[LayerTensor::mlp_statistics].reset();
}

// dx_NM comes as the gradient by the residual sum and becomes the gradient by the layer's input.
void DecoderLayer::attention_backward(const GatheredUnit& weights, const GradientTarget& gradients, LayerValues& v,
                                      const Tensor& dx_NM) const {
  const Context& context = shared_.context;
  const Shape query_shape = v[LayerTensor::query].view().shape;
  const Shape kv_shape = v[LayerTensor::key].view().shape;
  linear_backward_weight(context, gradients, parameters_.out, dx_NM, v[LayerTensor::context], kProjection);
  Tensor dquery = context.workspace(named("dquery"), query_shape);
  Tensor dkey = context.workspace(named("dkey"), kv_shape);
  Tensor dvalue = context.workspace(named("dvalue"), kv_shape);
  {
    Tensor dcontext = context.workspace(named("dcontext"), query_shape);
    linear_backward_input(context, weights, parameters_.out, dcontext, dx_NM, Write::overwrite, kProjection);
    Tensor dweights_BHTT;
    if (v.has(LayerTensor::attention_weights)) {
      dweights_BHTT = context.workspace(named("dattention_weights"), v[LayerTensor::attention_weights].view().shape);
    }
    context.ops.attention_backward({.dquery = dquery,
                                    .dkey = dkey,
                                    .dvalue = dvalue,
                                    .dcontext = dcontext,
                                    .query = v[LayerTensor::query],
                                    .key = v[LayerTensor::key],
                                    .value = v[LayerTensor::value],
                                    .context = v[LayerTensor::context],
                                    .logsumexp_BHT = v[LayerTensor::logsumexp],
                                    .weights_BHTT = v[LayerTensor::attention_weights],
                                    .dweights_BHTT = dweights_BHTT,
                                    .dims = attention_dims(),
                                    .kind = shared_.run.attention});
  }
  if (shared_.rope_cos_sin_TD.defined()) {
    for (const Tensor* gradient : {&dquery, &dkey}) {
      context.ops.rope({.x = *gradient,
                        .cos_sin_TD = shared_.rope_cos_sin_TD,
                        .head_dim = model_.head_dim,
                        .layout = model_.position.rope_layout,
                        .direction = Direction::backward});
    }
  }
  Tensor normed_NM = context.workspace(named("attention_norm"), Shape{tokens(), model_.d_model});
  context.ops.norm_apply(norm_forward_args(model_, weights, parameters_.attention_norm, normed_NM,
                                           v[LayerTensor::attention_statistics], v[LayerTensor::layer_input]));
  linear_backward_weight(context, gradients, parameters_.query, dquery, normed_NM, kProjection);
  linear_backward_weight(context, gradients, parameters_.key, dkey, normed_NM, kProjection);
  linear_backward_weight(context, gradients, parameters_.value, dvalue, normed_NM, kProjection);
  const TensorView dnormed_NM = normed_NM;
  linear_backward_input(context, weights, parameters_.query, dnormed_NM, dquery, Write::overwrite, kProjection);
  linear_backward_input(context, weights, parameters_.key, dnormed_NM, dkey, Write::accumulate, kProjection);
  linear_backward_input(context, weights, parameters_.value, dnormed_NM, dvalue, Write::accumulate, kProjection);
  norm_backward(context, model_, weights, gradients, parameters_.attention_norm,
                {.dx = dx_NM,
                 .dy = dnormed_NM,
                 .x = v[LayerTensor::layer_input],
                 .statistics = v[LayerTensor::attention_statistics]},
                Write::accumulate);
}

}  // namespace perfbench::engine
