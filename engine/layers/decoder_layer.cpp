#include "engine/layers/decoder_layer.h"

#include <utility>

#include "engine/layers/dense_feed_forward.h"
#include "engine/layers/dropout.h"
#include "engine/layers/expert_feed_forward.h"

namespace perfbench::engine {
namespace {

// A dense block or one of experts, depending on the parameters of the unit.
std::unique_ptr<FeedForwardBlock> make_feed_forward(const LayerShared& shared, const LayerUnits& units) {
  if (units.layer.place_if_any("router.weight")) return std::make_unique<ExpertFeedForward>(shared, units);
  return std::make_unique<DenseFeedForward>(shared, units);
}

}  // namespace

DecoderLayer::DecoderLayer(const LayerShared& shared, const LayerUnits& units)
    : shared_(shared),
      name_(units.layer.name),
      attention_(shared, units),
      feed_forward_(make_feed_forward(shared, units)) {
  units.layer.require_found(attention_.parameters() + feed_forward_->parameters());
  if (units.adapters == nullptr) return;
  units.adapters->require_found(attention_.adapter_parameters() + feed_forward_->adapter_parameters());
}

Tensor DecoderLayer::forward(const LayerWeights& weights, Tensor x_RM, LayerState& state) const {
  AttentionBlock::Values a;
  FeedForwardBlock::Values f;
  drop_layer_input(shared_, name_, x_RM);
  a[AttentionValue::input] = std::move(x_RM);
  attention_.compute(weights, a);
  attention_.put_away({AttentionValue::statistics, AttentionValue::projections, AttentionValue::query,
                       AttentionValue::key, AttentionValue::value, AttentionValue::query_before,
                       AttentionValue::key_before, AttentionValue::query_statistics, AttentionValue::key_statistics,
                       AttentionValue::weights, AttentionValue::logsumexp},
                      a, state.attention);
  f[FeedForwardValue::input] = attention_.project(weights, a);
  attention_.put_away({AttentionValue::context}, a, state.attention);
  Tensor normed = feed_forward_->normalise(weights, f, a[AttentionValue::input]);
  attention_.put_away({AttentionValue::input}, a, state.attention);
  Tensor product_NF = feed_forward_->compute(weights, f, std::move(normed));
  return feed_forward_->finish(weights, f, std::move(product_NF), state.feed_forward);
}

Tensor DecoderLayer::backward(const LayerWeights& weights, const LayerGradients& gradients, Tensor dy_RM,
                              LayerState& state) const {
  AttentionBlock::Values a = state.attention.take();
  FeedForwardBlock::Values f = state.feed_forward.take();
  const bool attention_is_read = gradients.last_reader != LastReader::feed_forward;
  Tensor product_NF;
  {
    const RangeSpan range(shared_.context.trace, "recompute");
    RecomputePass recompute(shared_.context.ops);
    if (attention_is_read || !f.has(FeedForwardValue::input)) attention_.compute(weights, a);
    TensorView missing_RM;
    if (!f.has(FeedForwardValue::input)) {
      f[FeedForwardValue::input] = attention_.project(weights, a);
      missing_RM = a[AttentionValue::input];
    }
    product_NF = feed_forward_->compute(weights, f, feed_forward_->normalise(weights, f, missing_RM));
  }
  feed_forward_->backward(weights, gradients, f, std::move(product_NF), dy_RM);
  if (attention_is_read) attention_.backward(weights, gradients, a, dy_RM);
  if (gradients.last_reader == LastReader::below) drop_layer_input(shared_, name_, dy_RM);
  return dy_RM;
}

}  // namespace perfbench::engine
