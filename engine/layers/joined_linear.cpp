#include "engine/layers/joined_linear.h"

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

bool follows(const ParameterPlace& first, const ParameterPlace& second) {
  return second.offset == first.offset + first.shape.elements();
}

// One linear layer of both's outputs, where both lie so in their unit.
std::optional<Linear> joined(const Linear& first, const Linear& second) {
  const bool biases_fit =
      first.bias.has_value() == second.bias.has_value() && (!first.bias || follows(*first.bias, *second.bias));
  if (!follows(first.weight, second.weight) || !biases_fit) return std::nullopt;
  Linear both = first;
  const std::int64_t outputs = first.outputs() + second.outputs();
  both.weight.shape = Shape{outputs, first.weight.shape[1]};
  if (both.bias) both.bias->shape = Shape{outputs};
  return both;
}

}  // namespace

JoinedLinear::JoinedLinear(std::initializer_list<Linear> members, Products products) : products_(products) {
  if (members.size() == 0 || members.size() > kMost) throw LogicFault("so many linear layers are not joined");
  for (const Linear& linear : members) {
    members_[count_] = linear;
    first_output_[count_ + 1] = first_output_[count_] + linear.outputs();
    if (count_ > 0 && whole_) {
      whole_ = joined(*whole_, linear);
    } else if (count_ == 0 && is_joined()) {
      whole_ = linear;
    }
    ++count_;
  }
  if (whole_) whole_->adapter.reset();
}

std::size_t JoinedLinear::parameters() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += members_[i]->parameters();
  return sum;
}

std::size_t JoinedLinear::adapter_parameters() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += members_[i]->adapter_parameters();
  return sum;
}

JoinedLinear::Outputs JoinedLinear::side_by_side(RowsView all) const {
  Outputs outputs{.all = all, .members = {}};
  for (std::size_t i = 0; i < count_; ++i) outputs.members[i] = columns(all, i);
  return outputs;
}

void JoinedLinear::forward(const Context& context, const LayerWeights& weights, const Outputs& y, TensorView x,
                           FlopPart part) const {
  if (at_once(y)) linear_forward(context, weights, *whole_, y.all, x, part);
  for (std::size_t i = 0; i < count_; ++i) {
    const Linear& linear = *members_[i];
    if (!y.members[i].defined()) continue;
    if (!at_once(y)) {
      linear_forward(context, weights, linear, y.members[i], x, part);
    } else if (linear.adapter) {
      adapter_forward(context, weights, *linear.adapter, y.members[i], x, part);
    }
  }
}

JoinedLinear::OfMembers<Tensor> JoinedLinear::backward_weight(const Context& context, const LayerWeights& weights,
                                                              const LayerGradients& gradients, const Outputs& dy,
                                                              TensorView x, FlopPart part) const {
  if (at_once(dy)) linear_backward_weight(context, weights, gradients, *whole_, dy.all, x, part);
  OfMembers<Tensor> dinner;
  for (std::size_t i = 0; i < count_; ++i) {
    const Linear& linear = *members_[i];
    if (!at_once(dy)) {
      dinner[i] = linear_backward_weight(context, weights, gradients, linear, dy.members[i], x, part);
    } else if (linear.adapter) {
      dinner[i] = adapter_backward(context, weights, gradients, *linear.adapter, dy.members[i], x, part);
    }
  }
  return dinner;
}

void JoinedLinear::backward_input(const Context& context, const LayerWeights& weights, TensorView dx, const Outputs& dy,
                                  const OfMembers<Tensor>& dinner, FlopPart part) const {
  if (at_once(dy)) linear_backward_input(context, weights, *whole_, dx, dy.all, {}, Write::overwrite, part);
  for (std::size_t i = 0; i < count_; ++i) {
    const Linear& linear = *members_[i];
    if (!at_once(dy)) {
      const Write write = i == 0 ? Write::overwrite : Write::accumulate;
      linear_backward_input(context, weights, linear, dx, dy.members[i], dinner[i], write, part);
    } else if (linear.adapter) {
      adapter_backward_input(context, weights, *linear.adapter, dx, dinner[i], part);
    }
  }
}

}  // namespace perfbench::engine
