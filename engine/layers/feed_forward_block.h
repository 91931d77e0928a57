// The second half of a decoder layer: norm, projections up, activation, projection down. Letters as in ops.h, F the
// hidden width of this rank; R its rows of the residual stream (tensor_parallel.h).
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "engine/layers/block_values.h"
#include "engine/layers/layer_shared.h"
#include "engine/layers/linear.h"
#include "engine/layers/norm.h"

namespace perfbench::engine {

enum class FeedForwardValue {
  input,       // the residual sum [R, M]
  statistics,  // [1 or 2, R]
  gate,        // [N, F], gated kinds only
  up,          // [N, F]
  count
};

class FeedForwardBlock {
 public:
  using Values = BlockValues<FeedForwardValue>;
  using Saved = SavedValues<FeedForwardValue>;

  FeedForwardBlock(const LayerShared& shared, const UnitLayout& unit);
  std::size_t parameters() const;

  // The normalised input of all tokens, in a buffer of TensorParallel; nothing where everything that reads it is there.
  // `missing_RM` is added to the input first; undefined where that is whole.
  Tensor normalise(const GatheredUnit& weights, Values& v, TensorView missing_RM) const;
  // Every value that is missing, in the order of the forward pass. The activated product where it came with its
  // projection, else nothing.
  Tensor compute(const GatheredUnit& weights, Values& v, Tensor normed) const;
  // What the block makes of the input, and the input [R, M]. Puts away what it has read.
  Tensor finish(const GatheredUnit& weights, Values& v, Tensor product_NF, Saved& saved) const;
  // dy_RM becomes the gradient by the input. `product_NF` as from compute.
  void backward(const GatheredUnit& weights, const GradientTarget& gradients, Values& v, Tensor product_NF,
                TensorView dy_RM) const;

 private:
  using V = FeedForwardValue;
  static constexpr auto kPart = FlopPart::feed_forward;

  // Products whose activation is their epilogue.
  bool fuses_activation() const { return model_.activation == spec::Activation::gelu_tanh; }
  Tensor activated(const Values& v, Tensor product_NF) const;
  void put_away(std::initializer_list<FeedForwardValue> names, Values& v, Saved& saved) const;
  spec::Saved saved_name(FeedForwardValue value) const;
  Tensor product_buffer() const;
  void backward_up(const GatheredUnit& weights, const GradientTarget& gradients, Values& v, TensorView dy_RM) const;
  std::string named(const char* what) const { return name_ + "." + what; }

  const LayerShared& shared_;
  const spec::ModelSpec& model_;
  std::string name_;
  Norm norm_;
  std::optional<Linear> gate_;  // gated kinds only
  Linear up_;
  Linear down_;
};

}  // namespace perfbench::engine
