// The second half of a decoder layer: norm, up projections, activation, down projection. Letters are those of ops.h; F
// is the hidden width of this rank, R its rows of the residual stream (tensor_parallel.h). Projections work on rows of
// tokens, N, or with experts on the rows sent to this rank's experts, Q (expert_operations.h).
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
  gate_up,     // [N, 2 F], gate and up joined, of a dense gated block. Other blocks have:
  gate,        // [N or Q, F], gated kinds only
  up,          // [N or Q, F]
  // Only with experts:
  logits,        // the router's logits [R of all ranks along tp, E]
  choice_gates,  // [N, C]
  experts,       // [N, C]
  rows,          // [N, C]
  choices,       // [Q]
  segments,      // of the rows that have arrived here [P, X, 2]
  output,        // the rows that have come back [Q, M]
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

  // The normalised input of all tokens, in a buffer of TensorParallel; empty if all values computed from it exist. Adds
  // `missing_RM` to the input first; it is undefined if the input is complete.
  Tensor normalise(const LayerWeights& weights, Values& v, TensorView missing_RM) const;
  // Computes every missing value except the output, in the order of the forward pass. Returns the activated product if
  // it came with its projection, else nothing.
  virtual Tensor compute(const LayerWeights& weights, Values& v, Tensor normed) const = 0;
  // Returns the block's result plus the input [R, M]. Puts away the values that it has read.
  virtual Tensor finish(const LayerWeights& weights, Values& v, Tensor product, Saved& saved) const = 0;
  // On return dy_RM is the gradient of the input. `product` is the result of compute.
  virtual void backward(const LayerWeights& weights, const LayerGradients& gradients, Values& v, Tensor product,
                        TensorView dy_RM) const = 0;

 protected:
  using V = FeedForwardValue;
  static constexpr auto kPart = FlopPart::feed_forward;

  FeedForwardBlock(const LayerShared& shared, const LayerUnits& units);

  // Whether all values computed from the normalised input exist.
  virtual bool has_projections(const Values& v) const = 0;
  virtual spec::Saved saved_name(FeedForwardValue value) const = 0;

  void put_away(std::initializer_list<FeedForwardValue> names, Values& v, Saved& saved) const;
  // Recomputes all tokens of the normalised input in the buffer; only this rank's rows are written here.
  TensorView normalise_again(const LayerWeights& weights, const Values& v, TensorView buffer) const;
  // Takes the gradient of this rank's rows of the normalised input and adds to dy_RM. Drops the input.
  void backward_norm(const LayerWeights& weights, const LayerGradients& gradients, Values& v, TensorView dnormed_RM,
                     TensorView dy_RM) const;
  std::string named(const char* what) const { return name_ + "." + what; }

  const LayerShared& shared_;
  const spec::ModelSpec& model_;
  std::string name_;
  Norm norm_;
};

}  // namespace perfbench::engine
