#include "engine/layers/joined_linear.h"

#include <algorithm>
#include <span>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

bool follows(const ParameterPlace& first, const ParameterPlace& second) {
  return second.offset == first.offset + first.shape.elements();
}

// A linear layer with the outputs of both, if their parameters are adjacent in their unit.
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
  if (members.size() == 0 || members.size() > kMost) throw LogicFault("this number of linear layers cannot be joined");
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

RoundedOperand JoinedLinear::rounded_weights(const Context& context, const LayerWeights& weights) const {
  if (fp8() == nullptr) return {};
  RoundedOperand all = room_for_rounded(context, *fp8(), Fp8Role::weight, Shape{outputs(), members_[0]->inputs()});
  OfMembers<QuantizeArgs::Rounded> parts;
  for (std::size_t i = 0; i < count_; ++i) {
    const TensorView weight = weights.layer.weight(members_[i]->weight);
    parts[i] = {all.buffer.view().slice(first_output_[i] * members_[i]->inputs(), weight.shape), weight};
  }
  round_together(context, *fp8(), Fp8Role::weight, std::span(parts).first(count_));
  return all;
}

JoinedLinear::Gradients JoinedLinear::rounded_gradients(const Context& context, const Outputs& dy,
                                                        std::int64_t tokens) const {
  Gradients d;
  d.dy = dy;
  if (fp8() == nullptr) return d;
  d.rounded = room_for_rounded(context, *fp8(), Fp8Role::gradient, Shape{tokens, outputs()});
  d.dy = side_by_side(d.rounded.operand.rows);
  OfMembers<QuantizeArgs::Rounded> parts{{{d.dy.all, dy.all}}};
  std::size_t count = 1;
  if (!dy.all.defined()) {
    for (count = 0; count < count_; ++count) parts[count] = {d.dy.members[count], dy.members[count]};
  }
  round_together(context, *fp8(), Fp8Role::gradient, std::span(parts).first(count));
  return d;
}

Operand JoinedLinear::weight_of(const LayerWeights& weights, const RoundedOperand& all, const Linear& linear,
                                std::int64_t first_output) const {
  if (!all.buffer.defined()) return {weights.layer.weight(linear.weight)};
  return {all.buffer.view().slice(first_output * linear.inputs(), linear.weight.shape), all.operand.inverse_scale};
}

template <class F>
void JoinedLinear::for_each_product(const Outputs& outputs, F&& f) const {
  if (at_once(outputs)) return f(*whole_, std::size_t{0}, outputs.all);
  for (std::size_t i = 0; i < count_; ++i) {
    if (outputs.members[i].defined()) f(*members_[i], i, outputs.members[i]);
  }
}

void JoinedLinear::forward(const Context& context, const LayerWeights& weights, const Outputs& y, TensorView x,
                           FlopPart part) const {
  if (std::ranges::none_of(y.members, &RowsView::defined)) return;
  {
    const RoundedOperand input = rounded(context, fp8(), Fp8Role::input, x);
    const RoundedOperand weight = rounded_weights(context, weights);
    for_each_product(y, [&](const Linear& linear, std::size_t i, const RowsView& out) {
      forward_product(context, weights, linear, out, input.operand,
                      weight_of(weights, weight, linear, first_output_[i]), part, Bias::here);
    });
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (!y.members[i].defined() || !members_[i]->adapter) continue;
    adapter_forward(context, weights, *members_[i]->adapter, y.members[i], x, part);
  }
}

JoinedLinear::Gradients JoinedLinear::backward_weight(const Context& context, const LayerWeights& weights,
                                                      const LayerGradients& gradients, const Outputs& dy, TensorView x,
                                                      FlopPart part) const {
  const GradientTarget& own = gradients.layer;
  Gradients d = rounded_gradients(context, dy, x.shape[0]);
  if (own.gradient(members_[0]->weight).defined()) {
    const RoundedOperand input = rounded(context, fp8(), Fp8Role::input, x);
    for_each_product(d.dy, [&](const Linear& linear, std::size_t, const RowsView& of_linear) {
      weight_gradient_product(context, own, own.gradient(linear.weight), {of_linear, d.rounded.operand.inverse_scale},
                              input.operand, part);
    });
  }
  for_each_product(dy, [&](const Linear& linear, std::size_t, const RowsView& of_linear) {
    bias_gradient(context, own, linear, of_linear, Bias::here);
  });
  for (std::size_t i = 0; i < count_; ++i) {
    if (!members_[i]->adapter) continue;
    d.dinner[i] = adapter_backward(context, weights, gradients, *members_[i]->adapter, dy.members[i], x, part);
  }
  return d;
}

void JoinedLinear::backward_input(const Context& context, const LayerWeights& weights, TensorView dx,
                                  const Gradients& d, FlopPart part) const {
  const RoundedOperand weight = rounded_weights(context, weights);
  const auto add_adapter = [&](std::size_t i) {
    if (!members_[i]->adapter) return;
    adapter_backward_input(context, weights, *members_[i]->adapter, dx, d.dinner[i], part);
  };
  const bool one_product = at_once(d.dy);
  for_each_product(d.dy, [&](const Linear& linear, std::size_t i, const RowsView& of_linear) {
    input_gradient_product(context, dx, {of_linear, d.rounded.operand.inverse_scale},
                           weight_of(weights, weight, linear, first_output_[i]),
                           i == 0 ? Write::overwrite : Write::accumulate, part);
    if (!one_product) add_adapter(i);
  });
  for (std::size_t i = 0; i < count_ && one_product; ++i) add_adapter(i);
}

}  // namespace perfbench::engine
