#include "engine/layers/fp8_scales.h"

#include <algorithm>

namespace perfbench::engine {
namespace {

// The linear layers whose products read 8 bits, and those of one input under one name. There is no other list.
struct Rounding {
  std::string_view linear;
  std::string_view name;
};
constexpr std::array<Rounding, 7> kRounded{{{"query", "qkv"},
                                            {"key", "qkv"},
                                            {"value", "qkv"},
                                            {"out", "out"},
                                            {"gate", "gate_up"},
                                            {"up", "gate_up"},
                                            {"down", "down"}}};

std::string joined(std::string_view unit, std::string_view name) {
  return std::string(unit) + "." + std::string(name);
}

DType format_of(Fp8Role role) {
  return role == Fp8Role::gradient ? DType::e5m2 : DType::e4m3;
}

}  // namespace

Fp8Scales::Fp8Scales(const Context& context, const spec::RunSpec& run, const std::vector<const UnitLayout*>& layers)
    : context_(context) {
  for (const auto* layer : layers) {
    for (const auto& [linear, name] : kRounded) {
      if (!layer->place_if_any(std::string(linear) + ".weight")) continue;
      const auto full_name = joined(layer->name, name);
      if (!linears_.empty() && linears_.back().name == full_name) continue;
      linears_.push_back({.name = full_name, .states = {}, .scaling = run.fp8_scaling});
    }
  }
  const auto count = static_cast<std::int64_t>(linears_.size());
  const auto make = [&](const char* name, Shape shape, double value) {
    Tensor made(context.memory, {name, MemoryScope::optimizer, DType::f32, shape});
    context.ops.fill(made, value);
    return made;
  };
  amax_S_ = make("fp8_amax", Shape{3 * count}, 0.0);
  scale_S_ = make("fp8_scale", Shape{3 * count}, 1.0);
  inverse_scale_S_ = make("fp8_inverse_scale", Shape{3 * count}, 1.0);
  if (look_back(run)) {
    e4m3_history_HS_ = make("fp8_amax_history", Shape{run.fp8_amax_history, 2 * count}, 0.0);
    e5m2_history_HS_ = make("fp8_gradient_amax_history", Shape{run.fp8_amax_history, count}, 0.0);
  }
  const auto state = [&](std::int64_t index) {
    const auto at = [&](const Tensor& all) { return all.view().slice(index, Shape{1}); };
    return QuantizationState{.amax = at(amax_S_), .scale = at(scale_S_), .inverse_scale = at(inverse_scale_S_)};
  };
  for (std::int64_t i = 0; i < count; ++i) {
    linears_[static_cast<std::size_t>(i)].states = {state(2 * i), state(2 * i + 1), state(2 * count + i)};
  }
}

const Fp8Linear* Fp8Scales::find(const UnitLayout& layer, std::string_view linear) const {
  const auto of_linear = std::ranges::find(kRounded, linear, &Rounding::linear);
  if (of_linear == kRounded.end()) return nullptr;
  const auto found = std::ranges::find(linears_, joined(layer.name, of_linear->name), &Fp8Linear::name);
  return found == linears_.end() ? nullptr : &*found;
}

void Fp8Scales::update() {
  if (!e4m3_history_HS_.defined()) return;
  PhaseClock::Scope optimizer(context_.clock, Phase::optimizer);
  if (context_.collectives.mesh().size(kLayerAxes) > 1) {
    PhaseClock::Scope exposed(context_.clock, Phase::exposed_comm);
    context_.collectives.all_reduce_max(kLayerAxes, amax_S_, Lane::in_line).wait();
  }
  std::int64_t first = 0;
  for (const auto& [history, format] :
       {std::pair{e4m3_history_HS_.view(), DType::e4m3}, std::pair{e5m2_history_HS_.view(), DType::e5m2}}) {
    const std::int64_t count = history.shape[1];
    const auto own = [&](const Tensor& all) { return all.view().slice(first, Shape{count}); };
    context_.ops.update_scales({.amax_S = own(amax_S_),
                                .history_HS = history,
                                .scale_S = own(scale_S_),
                                .inverse_scale_S = own(inverse_scale_S_),
                                .format = format});
    first += count;
  }
}

RoundedOperand room_for_rounded(const Context& context, const Fp8Linear& fp8, Fp8Role role, Shape shape) {
  constexpr std::array<const char*, kFp8Roles> kNames{".fp8_input", ".fp8_weight", ".fp8_gradient"};
  RoundedOperand room;
  room.buffer = Tensor(context.memory, {fp8.name + kNames[static_cast<std::size_t>(role)], MemoryScope::workspace,
                                        format_of(role), shape});
  room.operand = {room.buffer, fp8.state(role).inverse_scale};
  return room;
}

void round_together(const Context& context, const Fp8Linear& fp8, Fp8Role role,
                    std::span<const QuantizeArgs::Rounded> tensors) {
  context.ops.quantize({.tensors = tensors, .state = fp8.state(role), .scaling = fp8.scaling});
}

RoundedOperand rounded(const Context& context, const Fp8Linear* fp8, Fp8Role role, RowsView rows) {
  if (fp8 == nullptr) return {.buffer = {}, .operand = {rows}};
  RoundedOperand made = room_for_rounded(context, *fp8, role, rows.shape);
  const QuantizeArgs::Rounded tensor{made.operand.rows, rows};
  round_together(context, *fp8, role, {&tensor, 1});
  return made;
}

}  // namespace perfbench::engine
