// One pre-norm decoder layer: x + attention(norm(x)), then that + feed_forward(norm(that)).
#pragma once

#include <memory>
#include <string>

#include "engine/layers/attention_block.h"
#include "engine/layers/feed_forward_block.h"

namespace perfbench::engine {

// What a layer keeps of one microbatch from its forward to its backward pass.
struct LayerState {
  AttentionBlock::Saved attention;
  FeedForwardBlock::Saved feed_forward;

  // When the next layer, or with one recording for all this one, is computed: what is offloaded has left the device.
  void finish_offload() {
    attention.finish_offload();
    feed_forward.finish_offload();
  }
  // Just before the backward pass.
  void finish_fetch() {
    attention.finish_fetch();
    feed_forward.finish_fetch();
  }
};

class DecoderLayer {
 public:
  DecoderLayer(const LayerShared& shared, const LayerUnits& units);

  bool has_experts() const { return feed_forward_->has_experts(); }
  // y_RM from x_RM. What the policy keeps waits in `state`.
  Tensor forward(const LayerWeights& weights, Tensor x_RM, LayerState& state) const;
  // Before the backward pass, while the layer behind this one computes: what was offloaded begins to come back.
  void begin_fetch(LayerState& state) const {
    state.attention.begin_fetch(shared_.context);
    state.feed_forward.begin_fetch(shared_.context);
  }
  // dx_RM from dy_RM (in its buffer), which holds nothing of use where nothing below reads it; parameter gradients into
  // `gradients`.
  Tensor backward(const LayerWeights& weights, const LayerGradients& gradients, Tensor dy_RM, LayerState& state) const;

 private:
  const LayerShared& shared_;
  std::string name_;
  AttentionBlock attention_;
  std::unique_ptr<FeedForwardBlock> feed_forward_;
};

}  // namespace perfbench::engine
