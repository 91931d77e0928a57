#include "engine/layers/attention_block.h"

#include <utility>

#include "engine/ops/attention_parts.h"

namespace perfbench::engine {

spec::Saved AttentionBlock::saved_name(AttentionValue value) {
  using spec::Saved;
  switch (value) {
    case V::input:
      return Saved::layer_input;
    case V::statistics:
    case V::query_statistics:
    case V::key_statistics:
      return Saved::norm_statistics;
    case V::query:
    case V::query_before:
      return Saved::query_proj;
    case V::key:
    case V::key_before:
      return Saved::key_proj;
    case V::value:
      return Saved::value_proj;
    case V::weights:
      return Saved::attention_weights;
    case V::context:
    case V::logsumexp:
    case V::count:
      return Saved::context;
  }
  return Saved::context;
}

// What a norm made of a projection is made of it again, as that of every norm.
spec::SavePlace AttentionBlock::place_of(AttentionValue value) const {
  const bool rebuilt = query_norm_ && (value == V::query || value == V::key);
  return rebuilt ? spec::SavePlace::remat : shared_.remat[saved_name(value)];
}

AttentionBlock::AttentionBlock(const LayerShared& shared, const LayerUnits& units)
    : shared_(shared),
      model_(shared.run.model),
      name_(units.layer.name),
      dims_(attention_of_rank(shared.run)),
      norm_(units.layer, "attention_norm"),
      query_(units, "query"),
      key_(units, "key"),
      value_(units, "value"),
      out_(units, "out"),
      relative_bias_(units.layer.place_if_any("relative_bias")) {
  if (model_.qk_norm != spec::QkNorm::none) {
    query_norm_.emplace(units.layer, "query_norm");
    key_norm_.emplace(units.layer, "key_norm");
  }
  const std::int64_t ranks = shared.tensor_parallel.ranks();
  if (model_.n_kv_heads % ranks == 0) return;
  // Fewer key and value heads than ranks: this rank's query heads read one of them.
  all_keys_ = key_;
  all_values_ = value_;
  const std::int64_t head = shared.tensor_parallel.index() * model_.n_kv_heads / ranks;
  key_ = key_.rows(head * model_.head_dim, model_.head_dim);
  value_ = value_.rows(head * model_.head_dim, model_.head_dim);
}

std::size_t AttentionBlock::parameters() const {
  const std::size_t of_heads = query_norm_ ? query_norm_->parameters() + key_norm_->parameters() : 0;
  return norm_.parameters() + query_.parameters() + key_.parameters() + value_.parameters() + of_heads +
         out_.parameters() + (relative_bias_ ? 1 : 0);
}

std::size_t AttentionBlock::adapter_parameters() const {
  return query_.adapter_parameters() + key_.adapter_parameters() + value_.adapter_parameters() +
         out_.adapter_parameters();
}

void AttentionBlock::put_away(std::initializer_list<AttentionValue> names, Values& v, Saved& saved) const {
  for (const auto name : names) {
    saved.put_away(name, std::move(v[name]), place_of(name), shared_.context, name_);
  }
}

// All tokens of the normalised input, in the buffer.
TensorView AttentionBlock::normalised(const LayerWeights& weights, Values& v, TensorView buffer) const {
  const Context& context = shared_.context;
  const TensorView rows_RM = shared_.tensor_parallel.rows_of(buffer);
  if (v.has(V::statistics)) {
    context.ops.norm_apply(norm_forward_args(model_, weights.layer, norm_, rows_RM, v[V::statistics], v[V::input]));
  } else {
    v[V::statistics] = norm_statistics(context, model_, named("attention_statistics"), shared_.tensor_parallel.rows());
    context.ops.norm_forward(norm_forward_args(model_, weights.layer, norm_, rows_RM, v[V::statistics], v[V::input]));
  }
  return shared_.tensor_parallel.gather(buffer);
}

void AttentionBlock::rotate(TensorView x, Direction direction) const {
  if (!shared_.rope_cos_sin_TD.defined()) return;
  shared_.context.ops.rope({.x = x,
                            .cos_sin_TD = shared_.rope_cos_sin_TD,
                            .first_N = shared_.first_N,
                            .head_dim = model_.head_dim,
                            .layout = model_.position.rope_layout,
                            .direction = direction});
}

// Every head is a row: [N, H*D] as [N*H, D].
void AttentionBlock::normalise(const LayerWeights& weights, Values& v, const NormedHeads& heads) const {
  if (!heads.norm || v.has(heads.after)) return;
  const Context& context = shared_.context;
  const TensorView before = v[heads.before];
  const Shape rows{before.elements() / dims_.head_dim, dims_.head_dim};
  v[heads.after] = context.activation(named(heads.name), before.shape);
  const bool known = v.has(heads.statistics);
  if (!known) {
    v[heads.statistics] = norm_statistics(context, model_, named(heads.name) + "_statistics", rows[0]);
  }
  const auto args = norm_forward_args(model_, weights.layer, *heads.norm, v[heads.after].view().reshaped(rows),
                                      v[heads.statistics], before.reshaped(rows));
  if (known) {
    context.ops.norm_apply(args);
  } else {
    context.ops.norm_forward(args);
  }
  rotate(v[heads.after], Direction::forward);
}

TensorView AttentionBlock::backward_heads(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                          const NormedHeads& heads, TensorView dy) const {
  if (!heads.norm) return dy;
  // What the norm made has been read for the last time: its buffer takes the gradient.
  const TensorView dx = v[heads.after];
  const Shape rows{dx.elements() / dims_.head_dim, dims_.head_dim};
  norm_backward(shared_.context, model_, weights.layer, gradients.layer, *heads.norm,
                {.dx = dx.reshaped(rows),
                 .dy = dy.reshaped(rows),
                 .x = v[heads.before].view().reshaped(rows),
                 .statistics = v[heads.statistics]},
                Write::overwrite);
  return dx;
}

Tensor AttentionBlock::bias_by_distance(const LayerWeights& weights) const {
  if (!relative_bias_) return {};
  Tensor bias_HT = shared_.context.workspace_f32(named("relative_bias"), Shape{dims_.n_heads, dims_.seq_len});
  shared_.context.ops.relative_bias_forward(
      {.bias_HT = bias_HT, .table_UH = weights.layer.weight(*relative_bias_), .buckets_T = shared_.distance_buckets_T});
  return bias_HT;
}

void AttentionBlock::compute_projections(const LayerWeights& weights, Values& v) const {
  const V query = query_norm_ ? V::query_before : V::query;
  const V key = key_norm_ ? V::key_before : V::key;
  if (v.has(V::statistics) && v.has(query) && v.has(key) && v.has(V::value)) return;
  const Context& context = shared_.context;
  const Tensor buffer = shared_.tensor_parallel.buffer(named("attention_norm"));
  const TensorView normed_NM = normalised(weights, v, buffer);
  const auto project = [&](AttentionValue which, const char* name, const Linear& linear, std::int64_t heads) {
    if (v.has(which)) return;
    v[which] = context.activation(named(name), Shape{shared_.tensor_parallel.tokens(), heads * dims_.head_dim});
    linear_forward(context, weights, linear, v[which], normed_NM, kPart);
    if (which == V::query || which == V::key) rotate(v[which], Direction::forward);
  };
  project(query, query_norm_ ? "query_proj" : "query", query_, dims_.n_heads);
  project(key, key_norm_ ? "key_proj" : "key", key_, dims_.n_kv_heads);
  project(V::value, "value", value_, dims_.n_kv_heads);
}

void AttentionBlock::compute(const LayerWeights& weights, Values& v) const {
  compute_projections(weights, v);
  normalise(weights, v, queries());
  normalise(weights, v, keys());
  const Context& context = shared_.context;
  const auto& d = dims_;
  const bool missing_weights = shared_.run.attention == spec::AttentionKind::dot_product && !v.has(V::weights);
  if (v.has(V::context) && v.has(V::logsumexp) && !missing_weights) return;
  // The parts of attention come out of one operation; those that are there are written again with the same bits.
  if (!v.has(V::context)) v[V::context] = context.activation(named("context"), v[V::query].view().shape);
  if (!v.has(V::logsumexp)) {
    v[V::logsumexp] = context.activation_f32(named("logsumexp"), Shape{d.batch, d.n_heads, d.seq_len});
  }
  if (missing_weights) {
    v[V::weights] = context.activation(named("attention_weights"), Shape{d.batch, d.n_heads, d.seq_len, d.seq_len});
  }
  const Tensor bias_HT = bias_by_distance(weights);
  context.ops.attention_forward({.context = v[V::context],
                                 .logsumexp_BHT = v[V::logsumexp],
                                 .weights_BHTT = v[V::weights],
                                 .query = v[V::query],
                                 .key = v[V::key],
                                 .value = v[V::value],
                                 .bias_HT = bias_HT,
                                 .first_N = shared_.first_N,
                                 .dims = d,
                                 .kind = shared_.run.attention});
}

Tensor AttentionBlock::project(const LayerWeights& weights, const Values& v) const {
  const auto& tp = shared_.tensor_parallel;
  Tensor out_RM = shared_.context.activation(named("out_proj"), Shape{tp.rows(), model_.d_model});
  PartialSums sums(shared_.context, tp, named("out_parts"), out_RM);
  linear_forward(shared_.context, weights, out_, sums.tokens_NM(), v[V::context], kPart, bias_of(tp));
  sums.finish();
  return out_RM;
}

void AttentionBlock::backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                              TensorView dx_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  const Shape query_shape = v[V::query].view().shape;
  const Shape kv_shape = v[V::key].view().shape;
  Tensor gathered_dx;
  const TensorView dx_NM = tp.gather(dx_RM, gathered_dx, named("dout_proj"));
  Tensor dinner = linear_backward_weight(context, weights, gradients, out_, dx_NM, v[V::context], kPart, bias_of(tp));
  Tensor dquery = context.workspace(named("dquery"), query_shape);
  Tensor dkey = context.workspace(named("dkey"), kv_shape);
  Tensor dvalue = context.workspace(named("dvalue"), kv_shape);
  {
    Tensor dcontext = context.workspace(named("dcontext"), query_shape);
    linear_backward_input(context, weights, out_, dcontext, dx_NM, dinner, Write::overwrite, kPart);
    dinner.reset();
    gathered_dx.reset();
    Tensor dweights_BHTT;
    if (v.has(V::weights)) {
      dweights_BHTT = context.workspace(named("dattention_weights"), v[V::weights].view().shape);
    }
    Tensor bias_HT;
    Tensor dbias_BHT;
    if (relative_bias_) {
      if (shared_.run.attention == spec::AttentionKind::flash) bias_HT = bias_by_distance(weights);
      // Attention gives it with its other gradients, whether the table trains or not.
      dbias_BHT = context.workspace_f32(named("drelative_bias"), v[V::logsumexp].view().shape);
    }
    context.ops.attention_backward({.dquery = dquery,
                                    .dkey = dkey,
                                    .dvalue = dvalue,
                                    .dbias_BHT = dbias_BHT,
                                    .dcontext = dcontext,
                                    .query = v[V::query],
                                    .key = v[V::key],
                                    .value = v[V::value],
                                    .context = v[V::context],
                                    .logsumexp_BHT = v[V::logsumexp],
                                    .bias_HT = bias_HT,
                                    .first_N = shared_.first_N,
                                    .weights_BHTT = v[V::weights],
                                    .dweights_BHTT = dweights_BHTT,
                                    .dims = dims_,
                                    .kind = shared_.run.attention});
    const TensorView dtable_UH = gradients.layer.gradient(relative_bias_);
    if (dtable_UH.defined()) {
      context.ops.relative_bias_backward({.dtable_UH = dtable_UH,
                                          .dbias_BHT = dbias_BHT,
                                          .buckets_T = shared_.distance_buckets_T,
                                          .write = gradients.layer.first_write()});
    }
  }
  rotate(dquery, Direction::backward);
  rotate(dkey, Direction::backward);
  const TensorView dquery_before = backward_heads(weights, gradients, v, queries(), dquery);
  const TensorView dkey_before = backward_heads(weights, gradients, v, keys(), dkey);
  backward_projections(weights, gradients, v, {dquery_before, dkey_before, dvalue}, dx_RM);
}

void AttentionBlock::backward_projections(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                          const Projections& d, TensorView dx_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  Tensor buffer = tp.buffer(named("attention_norm"));
  const TensorView normed_NM = normalised(weights, v, buffer);
  if (all_keys_) {
    zero_gradient(context, gradients, *all_keys_);
    zero_gradient(context, gradients, *all_values_);
  }
  const auto backward_weight = [&](const Linear& linear, TensorView dy) {
    return linear_backward_weight(context, weights, gradients, linear, dy, normed_NM, kPart);
  };
  const Tensor dinner_query = backward_weight(query_, d.query);
  const Tensor dinner_key = backward_weight(key_, d.key);
  const Tensor dinner_value = backward_weight(value_, d.value);
  // The normalised input has been read for the last time: its rows take their gradient.
  const TensorView dnormed_RM = tp.rows_of(buffer);
  PartialSums sums(context, tp, named("dattention_norm"), dnormed_RM, buffer);
  const auto backward_input = [&](const Linear& linear, TensorView dy, TensorView dinner, Write write) {
    linear_backward_input(context, weights, linear, sums.tokens_NM(), dy, dinner, write, kPart);
  };
  backward_input(query_, d.query, dinner_query, Write::overwrite);
  backward_input(key_, d.key, dinner_key, Write::accumulate);
  backward_input(value_, d.value, dinner_value, Write::accumulate);
  sums.finish();
  norm_backward(context, model_, weights.layer, gradients.layer, norm_,
                {.dx = dx_RM, .dy = dnormed_RM, .x = v[V::input], .statistics = v[V::statistics]}, Write::accumulate);
}

}  // namespace perfbench::engine
