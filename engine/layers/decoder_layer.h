// One pre-norm decoder layer: y = x + attention(norm(x)), then y + feed_forward(norm(y)).
#pragma once

#include <memory>
#include <string>

#include "engine/layers/attention_block.h"
#include "engine/layers/feed_forward_block.h"

namespace perfbench::engine {

// The values of one microbatch that a layer keeps from its forward to its backward pass.
struct LayerState {
  AttentionBlock::Saved attention;
  FeedForwardBlock::Saved feed_forward;

  // Called during the next layer or, if one recording serves all layers, during this one: waits until offloaded values
  // have left the device.
  void finish_offload() {
    attention.finish_offload();
    feed_forward.finish_offload();
  }
  // Called just before the backward pass.
  void finish_fetch() {
    attention.finish_fetch();
    feed_forward.finish_fetch();
  }
};

class DecoderLayer {
 public:
  DecoderLayer(const LayerShared& shared, const LayerUnits& units);

  bool has_experts() const { return feed_forward_->has_experts(); }
  // Computes y_RM from x_RM. `state` receives the values that the policy keeps.
  Tensor forward(const LayerWeights& weights, Tensor x_RM, LayerState& state) const;
  // Called before the backward pass, while the next layer computes its own: starts to bring back offloaded values.
  void begin_fetch(LayerState& state) const {
    state.attention.begin_fetch(shared_.context);
    state.feed_forward.begin_fetch(shared_.context);
  }
  // Returns dx_RM in the buffer of dy_RM; it has no meaning if no layer below reads it. Writes parameter gradients to
  // `gradients`.
  Tensor backward(const LayerWeights& weights, const LayerGradients& gradients, Tensor dy_RM, LayerState& state) const;

 private:
  const LayerShared& shared_;
  std::string name_;
  AttentionBlock attention_;
  std::unique_ptr<FeedForwardBlock> feed_forward_;
};

}  // namespace perfbench::engine
