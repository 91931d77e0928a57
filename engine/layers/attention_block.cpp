#include "engine/layers/attention_block.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/layers/dropout.h"
#include "engine/ops/attention_parts.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// The query, and the key and value of this rank's heads. With fewer key heads than ranks along tp, all query heads of a
// rank read one key head.
JoinedLinear attention_projections(const LayerShared& shared, const LayerUnits& units) {
  const auto& model = shared.run.model;
  const Linear query(units, "query");
  const Linear key(units, "key");
  const Linear value(units, "value");
  using enum spec::Saved;
  const auto products =
      shared.run.fused_qkv ? products_of(shared, {query_proj, key_proj, value_proj}) : JoinedLinear::Products::apart;
  const std::int64_t ranks = shared.tensor_parallel.ranks();
  if (model.n_kv_heads % ranks == 0) return {{query, key, value}, products};
  const std::int64_t head = shared.tensor_parallel.index() * model.n_kv_heads / ranks;
  const auto rows_of_head = [&](const Linear& all) { return all.rows(head * model.head_dim, model.head_dim); };
  return {{query, rows_of_head(key), rows_of_head(value)}, products};
}

}  // namespace

spec::Saved AttentionBlock::saved_name(AttentionValue value) {
  using spec::Saved;
  switch (value) {
    case V::input:
      return Saved::layer_input;
    case V::statistics:
    case V::query_statistics:
    case V::key_statistics:
      return Saved::norm_statistics;
    case V::projections:  // the policy gives all three the same place
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

// The result of a norm on a projection is recomputed from that projection, as for every norm.
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
      projections_(attention_projections(shared, units)),
      out_(units, "out"),
      relative_bias_(units.layer.place_if_any("relative_bias")) {
  if (model_.qk_norm != spec::QkNorm::none) {
    query_norm_.emplace(units.layer, "query_norm");
    key_norm_.emplace(units.layer, "key_norm");
  }
  if (model_.n_kv_heads % shared.tensor_parallel.ranks() == 0) return;
  all_keys_.emplace(units, "key");
  all_values_.emplace(units, "value");
}

std::size_t AttentionBlock::parameters() const {
  const std::size_t of_heads = query_norm_ ? query_norm_->parameters() + key_norm_->parameters() : 0;
  return norm_.parameters() + projections_.parameters() + of_heads + out_.parameters() + (relative_bias_ ? 1 : 0);
}

std::size_t AttentionBlock::adapter_parameters() const {
  return projections_.adapter_parameters() + out_.adapter_parameters();
}

void AttentionBlock::put_away(std::initializer_list<AttentionValue> names, Values& v, Saved& saved) const {
  for (const auto name : names) {
    const auto value = name == V::projections ? "query_proj+key_proj+value_proj" : spec::enum_name(saved_name(name));
    note_intermediate(shared_.context, value, v[name], name_, place_of(name));
    saved.put_away(name, std::move(v[name]), place_of(name), shared_.context);
  }
}

// Writes all tokens of the normalised input to the buffer.
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

AttentionValue AttentionBlock::apart(std::size_t member) const {
  if (member == kQuery) return query_norm_ ? V::query_before : V::query;
  if (member == kKey) return key_norm_ ? V::key_before : V::key;
  return V::value;
}

RowsView AttentionBlock::projected(const Values& v, std::size_t member) const {
  if (projections_.is_joined()) return projections_.columns(v[V::projections], member);
  return v[apart(member)];
}

void AttentionBlock::rotate(RowsView x, Direction direction) const {
  if (!shared_.rope_cos_sin_TD.defined()) return;
  shared_.context.ops.rope({.x = x,
                            .cos_sin_TD = shared_.rope_cos_sin_TD,
                            .first_N = shared_.first_N,
                            .head_dim = model_.head_dim,
                            .layout = model_.position.rope_layout,
                            .direction = direction});
}

// Every head is a row: [N, H*D] becomes [N*H, D].
void AttentionBlock::normalise(const LayerWeights& weights, Values& v, const NormedHeads& heads) const {
  if (!heads.norm || v.has(heads.after)) return;
  const Context& context = shared_.context;
  const RowsView before = projected(v, heads.member);
  const RowsView rows = before.split(dims_.head_dim);
  v[heads.after] = context.activation(named(heads.name), before.shape);
  const bool known = v.has(heads.statistics);
  if (!known) {
    v[heads.statistics] = norm_statistics(context, model_, named(heads.name) + "_statistics", rows.shape[0]);
  }
  const auto args = norm_forward_args(model_, weights.layer, *heads.norm, v[heads.after].view().reshaped(rows.shape),
                                      v[heads.statistics], rows);
  if (known) {
    context.ops.norm_apply(args);
  } else {
    context.ops.norm_forward(args);
  }
  rotate(v[heads.after], Direction::forward);
}

void AttentionBlock::backward_heads(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                    const NormedHeads& heads, RowsView d) const {
  if (!heads.norm) return;
  const RowsView rows = d.split(dims_.head_dim);
  norm_backward(shared_.context, model_, weights.layer, gradients.layer, *heads.norm,
                {.dx = rows,
                 .dy = rows,
                 .x = projected(v, heads.member).split(dims_.head_dim),
                 .statistics = v[heads.statistics]},
                Write::overwrite);
}

Tensor AttentionBlock::bias_by_distance(const LayerWeights& weights) const {
  if (!relative_bias_) return {};
  Tensor bias_HT = shared_.context.workspace_f32(named("relative_bias"), Shape{dims_.n_heads, dims_.seq_len});
  shared_.context.ops.relative_bias_forward(
      {.bias_HT = bias_HT, .table_UH = weights.layer.weight(*relative_bias_), .buckets_T = shared_.distance_buckets_T});
  return bias_HT;
}

void AttentionBlock::compute_projections(const LayerWeights& weights, Values& v) const {
  constexpr std::array kMembers{kQuery, kKey, kValue};
  const bool joined = projections_.is_joined();
  const auto there = [&](std::size_t member) { return v.has(joined ? V::projections : apart(member)); };
  if (v.has(V::statistics) && std::ranges::all_of(kMembers, there)) return;
  const Context& context = shared_.context;
  const Tensor buffer = shared_.tensor_parallel.buffer(named("attention_norm"));
  const TensorView normed_NM = normalised(weights, v, buffer);
  const std::int64_t tokens = shared_.tensor_parallel.tokens();
  JoinedLinear::Outputs missing;
  if (joined && !v.has(V::projections)) {
    v[V::projections] = context.activation(named("qkv_proj"), Shape{tokens, projections_.outputs()});
    missing = projections_.side_by_side(v[V::projections].view());
  }
  for (const auto member : kMembers) {
    if (there(member)) continue;
    constexpr std::array kNames{"query_proj", "key_proj", "value_proj"};
    v[apart(member)] = context.activation(named(kNames[member]), Shape{tokens, projections_.member(member).outputs()});
    missing.members[member] = v[apart(member)].view();
  }
  projections_.forward(context, weights, missing, normed_NM, kPart);
  if (!query_norm_ && missing.members[kQuery].defined()) rotate(missing.members[kQuery], Direction::forward);
  if (!key_norm_ && missing.members[kKey].defined()) rotate(missing.members[kKey], Direction::forward);
}

void AttentionBlock::compute(const LayerWeights& weights, Values& v) const {
  compute_projections(weights, v);
  normalise(weights, v, queries());
  normalise(weights, v, keys());
  const Context& context = shared_.context;
  const auto& d = dims_;
  const bool missing_weights = shared_.run.attention == spec::AttentionKind::dot_product && !v.has(V::weights);
  if (v.has(V::context) && v.has(V::logsumexp) && !missing_weights) return;
  // One operation computes all parts of attention; it writes existing parts again with the same bits.
  if (!v.has(V::context)) v[V::context] = context.activation(named("context"), query_of(v).shape);
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
                                 .query = query_of(v),
                                 .key = key_of(v),
                                 .value = projected(v, kValue),
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
  drop_addition(shared_, named("attention"), out_RM);
  return out_RM;
}

void AttentionBlock::backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                              TensorView dx_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  Tensor dropped_dx;
  Tensor gathered_dx;
  const TensorView dx_NM = tp.gather(drop_addition_backward(shared_, named("attention"), dx_RM, dropped_dx),
                                     gathered_dx, named("dout_proj"));
  OutputGradient dout =
      linear_backward_weight(context, weights, gradients, out_, dx_NM, v[V::context], kPart, bias_of(tp));
  const Tensor dprojections = context.workspace(named("dqkv_proj"), Shape{tp.tokens(), projections_.outputs()});
  const JoinedLinear::Outputs d = projections_.side_by_side(dprojections);
  {
    const Tensor dcontext = context.workspace(named("dcontext"), v[V::context].view().shape);
    linear_backward_input(context, weights, out_, dcontext, dout, Write::overwrite, kPart);
    dout = {};
    gathered_dx.reset();
    dropped_dx.reset();
    backward_attention(weights, gradients, v, dcontext, d);
  }
  rotate(d.members[kQuery], Direction::backward);
  rotate(d.members[kKey], Direction::backward);
  backward_heads(weights, gradients, v, queries(), d.members[kQuery]);
  backward_heads(weights, gradients, v, keys(), d.members[kKey]);
  backward_projections(weights, gradients, v, d, dx_RM);
}

void AttentionBlock::backward_attention(const LayerWeights& weights, const LayerGradients& gradients, const Values& v,
                                        TensorView dcontext, const JoinedLinear::Outputs& d) const {
  const Context& context = shared_.context;
  Tensor dweights_BHTT;
  if (v.has(V::weights)) {
    dweights_BHTT = context.workspace(named("dattention_weights"), v[V::weights].view().shape);
  }
  Tensor bias_HT;
  Tensor dbias_BHT;
  if (relative_bias_) {
    if (shared_.run.attention == spec::AttentionKind::flash) bias_HT = bias_by_distance(weights);
    // Attention returns this gradient with its others, whether the table trains or not.
    dbias_BHT = context.workspace_f32(named("drelative_bias"), v[V::logsumexp].view().shape);
  }
  context.ops.attention_backward({.dquery = d.members[kQuery],
                                  .dkey = d.members[kKey],
                                  .dvalue = d.members[kValue],
                                  .dbias_BHT = dbias_BHT,
                                  .dcontext = dcontext,
                                  .query = query_of(v),
                                  .key = key_of(v),
                                  .value = projected(v, kValue),
                                  .context = v[V::context],
                                  .logsumexp_BHT = v[V::logsumexp],
                                  .bias_HT = bias_HT,
                                  .first_N = shared_.first_N,
                                  .weights_BHTT = v[V::weights],
                                  .dweights_BHTT = dweights_BHTT,
                                  .dims = dims_,
                                  .kind = shared_.run.attention});
  const TensorView dtable_UH = gradients.layer.gradient(relative_bias_);
  if (!dtable_UH.defined()) return;
  context.ops.relative_bias_backward({.dtable_UH = dtable_UH,
                                      .dbias_BHT = dbias_BHT,
                                      .buckets_T = shared_.distance_buckets_T,
                                      .write = gradients.layer.first_write()});
}

void AttentionBlock::backward_projections(const LayerWeights& weights, const LayerGradients& gradients, Values& v,
                                          const JoinedLinear::Outputs& d, TensorView dx_RM) const {
  const Context& context = shared_.context;
  const auto& tp = shared_.tensor_parallel;
  Tensor buffer = tp.buffer(named("attention_norm"));
  const TensorView normed_NM = normalised(weights, v, buffer);
  if (all_keys_) {
    zero_gradient(context, gradients, *all_keys_);
    zero_gradient(context, gradients, *all_values_);
  }
  const auto made = projections_.backward_weight(context, weights, gradients, d, normed_NM, kPart);
  if (gradients.last_reader == LastReader::attention) return;
  // This was the last read of the normalised input: its gradient goes to its rows.
  const TensorView dnormed_RM = tp.rows_of(buffer);
  PartialSums sums(context, tp, named("dattention_norm"), dnormed_RM, buffer);
  projections_.backward_input(context, weights, sums.tokens_NM(), made, kPart);
  sums.finish();
  norm_backward(context, model_, weights.layer, gradients.layer, norm_,
                {.dx = dx_RM, .dy = dnormed_RM, .x = v[V::input], .statistics = v[V::statistics]}, Write::accumulate);
}

}  // namespace perfbench::engine
