// Linear layers of one input, as query, key and value, or gate and up. Where their outputs lie side by side in one
// buffer, and their weights (and biases) one behind the other in their unit, they are one product: forward, by the
// input and by the weights. Their adapters stay products of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "engine/layers/linear.h"

namespace perfbench::engine {

class JoinedLinear {
 public:
  static constexpr std::size_t kMost = 3;
  template <class T>
  using OfMembers = std::array<T, kMost>;

  // What the members give, or the gradients by that.
  struct Outputs {
    RowsView all;                 // [N, outputs()]; undefined where they lie in buffers of their own
    OfMembers<RowsView> members;  // forward: undefined where it is not to be computed
  };

  // What is asked for: one product, and buffer, or each its own.
  enum class Products { joined, apart };
  JoinedLinear(std::initializer_list<Linear> members, Products products);
  std::size_t parameters() const;
  std::size_t adapter_parameters() const;
  std::int64_t outputs() const { return first_output_[count_]; }
  // Whether what the members give is one buffer.
  bool is_joined() const { return products_ == Products::joined; }
  const Linear& member(std::size_t i) const { return *members_[i]; }
  // The columns of a member in a buffer of all.
  RowsView columns(RowsView all, std::size_t member) const {
    return all.columns(first_output_[member], members_[member]->outputs());
  }
  Outputs side_by_side(RowsView all) const;

  void forward(const Context& context, const LayerWeights& weights, const Outputs& y, TensorView x,
               FlopPart part) const;
  // What the gradient by the input is made of.
  struct Gradients {
    RoundedOperand rounded;    // of all members, where products read 8 bits
    Outputs dy;                // that, or what was given
    OfMembers<Tensor> dinner;  // of each as linear_backward_weight gives it
  };
  // Gradients by the weights.
  Gradients backward_weight(const Context& context, const LayerWeights& weights, const LayerGradients& gradients,
                            const Outputs& dy, TensorView x, FlopPart part) const;
  // dx[N, in] = the sum over the members.
  void backward_input(const Context& context, const LayerWeights& weights, TensorView dx, const Gradients& d,
                      FlopPart part) const;

 private:
  bool at_once(const Outputs& outputs) const { return whole_ && outputs.all.defined(); }
  const Fp8Linear* fp8() const { return members_.front()->fp8; }  // of all members
  // The weights one below the other, rounded with one scale, where products read 8 bits.
  RoundedOperand rounded_weights(const Context& context, const LayerWeights& weights) const;
  Gradients rounded_gradients(const Context& context, const Outputs& dy, std::int64_t tokens) const;
  // Of a member, or of all: whose first output is this one.
  Operand weight_of(const LayerWeights& weights, const RoundedOperand& all, const Linear& linear,
                    std::int64_t first_output) const;
  // f(linear layer, its number, its outputs) of the one product of all, as number 0, or of each member that is there.
  template <class F>
  void for_each_product(const Outputs& outputs, F&& f) const;

  Products products_;
  std::size_t count_ = 0;
  OfMembers<std::optional<Linear>> members_;
  std::array<std::int64_t, kMost + 1> first_output_{};
  std::optional<Linear> whole_;  // where they are one product; without adapters
};

}  // namespace perfbench::engine
