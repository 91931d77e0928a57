#include "engine/layers/decoder_layer.h"

#include <utility>

#include "engine/layers/dense_feed_forward.h"
#include "engine/layers/expert_feed_forward.h"

namespace perfbench::engine {
namespace {

// Dense or of experts, by the parameters that the unit has.
std::unique_ptr<FeedForwardBlock> make_feed_forward(const LayerShared& shared, const UnitLayout& unit) {
  if (unit.place_if_any("router.weight")) return std::make_unique<ExpertFeedForward>(shared, unit);
  return std::make_unique<DenseFeedForward>(shared, unit);
}

}  // namespace

DecoderLayer::DecoderLayer(const LayerShared& shared, const UnitLayout& unit)
    : shared_(shared), name_(unit.name), attention_(shared, unit), feed_forward_(make_feed_forward(shared, unit)) {
  unit.require_found(attention_.parameters() + feed_forward_->parameters());
}

Tensor DecoderLayer::forward(const GatheredUnit& weights, Tensor x_RM, LayerState& state) const {
  AttentionBlock::Values a;
  FeedForwardBlock::Values f;
  a[AttentionValue::input] = std::move(x_RM);
  attention_.compute(weights, a);
  attention_.put_away({AttentionValue::statistics, AttentionValue::query, AttentionValue::key, AttentionValue::value,
                       AttentionValue::query_before, AttentionValue::key_before, AttentionValue::query_statistics,
                       AttentionValue::key_statistics, AttentionValue::weights, AttentionValue::logsumexp},
                      a, state.attention);
  f[FeedForwardValue::input] = attention_.project(weights, a);
  attention_.put_away({AttentionValue::context}, a, state.attention);
  Tensor normed = feed_forward_->normalise(weights, f, a[AttentionValue::input]);
  attention_.put_away({AttentionValue::input}, a, state.attention);
  Tensor product_NF = feed_forward_->compute(weights, f, std::move(normed));
  return feed_forward_->finish(weights, f, std::move(product_NF), state.feed_forward);
}

Tensor DecoderLayer::backward(const GatheredUnit& weights, const GradientTarget& gradients, Tensor dy_RM,
                              LayerState& state) const {
  AttentionBlock::Values a = state.attention.take();
  FeedForwardBlock::Values f = state.feed_forward.take();
  Tensor product_NF;
  {
    const RangeSpan range(shared_.context.trace, "recompute");
    RecomputePass recompute(shared_.context.ops);
    attention_.compute(weights, a);
    TensorView missing_RM;
    if (!f.has(FeedForwardValue::input)) {
      f[FeedForwardValue::input] = attention_.project(weights, a);
      missing_RM = a[AttentionValue::input];
    }
    product_NF = feed_forward_->compute(weights, f, feed_forward_->normalise(weights, f, missing_RM));
  }
  feed_forward_->backward(weights, gradients, f, std::move(product_NF), dy_RM);
  attention_.backward(weights, gradients, a, dy_RM);
  return dy_RM;
}

}  // namespace perfbench::engine
