// Linear layers of one input, such as query, key and value, or gate and up. If their outputs lie side by side in one
// buffer, and their weights (and biases) one behind the other in their unit, they are computed as one product: forward,
// and for the gradients of input and weights. Their adapters remain separate products.
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

  // The members' outputs, or the gradients of these.
  struct Outputs {
    RowsView all;                 // [N, outputs()]; undefined if members have separate buffers
    OfMembers<RowsView> members;  // forward: undefined if a member is not to be computed
  };

  // Whether one product and buffer is wanted, or one for each member.
  enum class Products { joined, apart };
  JoinedLinear(std::initializer_list<Linear> members, Products products);
  std::size_t parameters() const;
  std::size_t adapter_parameters() const;
  std::int64_t outputs() const { return first_output_[count_]; }
  // Whether the members' outputs share one buffer.
  bool is_joined() const { return products_ == Products::joined; }
  const Linear& member(std::size_t i) const { return *members_[i]; }
  // The columns of a member in the shared buffer.
  RowsView columns(RowsView all, std::size_t member) const {
    return all.columns(first_output_[member], members_[member]->outputs());
  }
  Outputs side_by_side(RowsView all) const;

  void forward(const Context& context, const LayerWeights& weights, const Outputs& y, TensorView x,
               FlopPart part) const;
  // The values from which the gradient of the input is computed.
  struct Gradients {
    RoundedOperand rounded;    // of all members, if products read 8 bits
    Outputs dy;                // the rounded gradients, or those that were given
    OfMembers<Tensor> dinner;  // of each member, from linear_backward_weight
  };
  // Computes the gradients of the weights.
  Gradients backward_weight(const Context& context, const LayerWeights& weights, const LayerGradients& gradients,
                            const Outputs& dy, TensorView x, FlopPart part) const;
  // dx[N, in] = the sum over the members.
  void backward_input(const Context& context, const LayerWeights& weights, TensorView dx, const Gradients& d,
                      FlopPart part) const;

 private:
  bool at_once(const Outputs& outputs) const { return whole_ && outputs.all.defined(); }
  const Fp8Linear* fp8() const { return members_.front()->fp8; }  // shared by all members
  // The weights one below the other, rounded with one scale, if products read 8 bits.
  RoundedOperand rounded_weights(const Context& context, const LayerWeights& weights) const;
  Gradients rounded_gradients(const Context& context, const Outputs& dy, std::int64_t tokens) const;
  // The weights of a member, or of all members as one; `first_output` is its first output.
  Operand weight_of(const LayerWeights& weights, const RoundedOperand& all, const Linear& linear,
                    std::int64_t first_output) const;
  // Calls f(linear layer, its number, its outputs) for the one product of all, as number 0, or for each existing
  // member.
  template <class F>
  void for_each_product(const Outputs& outputs, F&& f) const;

  Products products_;
  std::size_t count_ = 0;
  OfMembers<std::optional<Linear>> members_;
  std::array<std::int64_t, kMost + 1> first_output_{};
  std::optional<Linear> whole_;  // if they are one product; without adapters
};

}  // namespace perfbench::engine
