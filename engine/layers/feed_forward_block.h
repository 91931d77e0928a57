// The second half of a decoder layer: norm, projections up, activation, projection down. Letters as in ops.h, F the
// hidden width of this rank; R its rows of the residual stream (tensor_parallel.h). The rows that projections work on
// are the tokens, N, or, of experts, those that were sent to this rank's, Q (expert_operations.h).
#pragma once

#include <initializer_list>
#include <string>

#include "engine/layers/block_values.h"
#include "engine/layers/layer_shared.h"
#include "engine/layers/norm.h"

namespace perfbench::engine {

enum class FeedForwardValue {
  input,       // the residual sum [R, M]
  statistics,  // [1 or 2, R]
  gate_up,     // [N, 2 F], joined, of a dense, gated block. Else there are:
  gate,        // [N or Q, F], gated kinds only
  up,          // [N or Q, F]
  // Of experts only.
  logits,        // of the router [R of all ranks along tp, E]
  choice_gates,  // [N, C]
  experts,       // [N, C]
  rows,          // [N, C]
  choices,       // [Q]
  segments,      // of the rows that have come here [P, X, 2]
  output,        // what has come back [Q, M]
  count
};

class FeedForwardBlock {
 public:
  using Values = BlockValues<FeedForwardValue>;
  using Saved = SavedValues<FeedForwardValue>;

  virtual ~FeedForwardBlock() = default;
  FeedForwardBlock(const FeedForwardBlock&) = delete;
  FeedForwardBlock& operator=(const FeedForwardBlock&) = delete;

  virtual std::size_t parameters() const = 0;
  virtual std::size_t adapter_parameters() const = 0;
  virtual bool has_experts() const = 0;

  // The normalised input of all tokens, in a buffer of TensorParallel; nothing where everything that reads it is there.
  // `missing_RM` is added to the input first; undefined where that is whole.
  Tensor normalise(const LayerWeights& weights, Values& v, TensorView missing_RM) const;
  // Every value that is missing but the output, in the order of the forward pass. The activated product where it came
  // with its projection, else nothing.
  virtual Tensor compute(const LayerWeights& weights, Values& v, Tensor normed) const = 0;
  // What the block makes of the input, and the input [R, M]. Puts away what it has read.
  virtual Tensor finish(const LayerWeights& weights, Values& v, Tensor product, Saved& saved) const = 0;
  // dy_RM becomes the gradient by the input. `product` as from compute.
  virtual void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, Tensor product,
                        TensorView dy_RM) const = 0;

 protected:
  using V = FeedForwardValue;
  static constexpr auto kPart = FlopPart::feed_forward;

  FeedForwardBlock(const LayerShared& shared, const LayerUnits& units);

  // Whether everything is there that is made of the normalised input.
  virtual bool has_projections(const Values& v) const = 0;
  virtual spec::Saved saved_name(FeedForwardValue value) const = 0;

  void put_away(std::initializer_list<FeedForwardValue> names, Values& v, Saved& saved) const;
  // All tokens of the normalised input once more, in the buffer, of which only this rank's rows are written here.
  TensorView normalise_again(const LayerWeights& weights, const Values& v, TensorView buffer) const;
  // From the gradient by this rank's rows of the normalised input; adds to dy_RM. Drops the input.
  void backward_norm(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dnormed_RM,
                     TensorView dy_RM) const;
  std::string named(const char* what) const { return name_ + "." + what; }

  const LayerShared& shared_;
  const spec::ModelSpec& model_;
  std::string name_;
  Norm norm_;
};

}  // namespace perfbench::engine
