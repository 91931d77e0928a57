#include "engine/layers/fp8_scales.h"

#include <algorithm>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// The linear layers whose products read 8 bits; layers with the same input share a name. There is no other list of
// them.
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

std::string joined_name(std::string_view unit, std::string_view name) {
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
      const auto full_name = joined_name(layer->name, name);
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
  constexpr std::int64_t kApart = kScaleAlignment / size_bytes(DType::f32);
  inverse_scale_SA_ = make("fp8_inverse_scale", Shape{3 * count, kApart}, 1.0);
  if (look_back(run)) {
    e4m3_history_HS_ = make("fp8_amax_history", Shape{run.fp8_amax_history, 2 * count}, 0.0);
    e5m2_history_HS_ = make("fp8_gradient_amax_history", Shape{run.fp8_amax_history, count}, 0.0);
  }
  const auto state = [&](std::int64_t index) {
    const auto at = [&](const Tensor& all, std::int64_t apart) { return all.view().slice(index * apart, Shape{1}); };
    return QuantizationState{
        .amax = at(amax_S_, 1), .scale = at(scale_S_, 1), .inverse_scale = at(inverse_scale_SA_, kApart)};
  };
  for (std::int64_t i = 0; i < count; ++i) {
    linears_[static_cast<std::size_t>(i)].states = {state(2 * i), state(2 * i + 1), state(2 * count + i)};
  }
}

bool Fp8Scales::look_back(const spec::RunSpec& run) {
  return run.precision == spec::Precision::fp8 && run.fp8_scaling == spec::Fp8Scaling::delayed;
}

const Fp8Linear* Fp8Scales::find(const UnitLayout& layer, std::string_view linear) const {
  const auto of_linear = std::ranges::find(kRounded, linear, &Rounding::linear);
  if (of_linear == kRounded.end()) return nullptr;
  const auto found = std::ranges::find(linears_, joined_name(layer.name, of_linear->name), &Fp8Linear::name);
  return found == linears_.end() ? nullptr : &*found;
}

void Fp8Scales::update() {
  if (!e4m3_history_HS_.defined()) return;
  PhaseClock::Scope optimizer(context_.clock, Phase::optimizer);
  if (context_.collectives.mesh().size(kLayerAxes) > 1) {
    PhaseClock::Scope exposed(context_.clock, Phase::exposed_comm);
    context_.collectives.all_reduce_max(kLayerAxes, amax_S_, Lane::in_line).wait();
  }
  for (const auto& format : formats()) update_scales(format);
}

std::array<Fp8Scales::Format, 2> Fp8Scales::formats() const {
  return {{{DType::e4m3, e4m3_history_HS_, 0}, {DType::e5m2, e5m2_history_HS_, e4m3_history_HS_.view().shape[1]}}};
}

void Fp8Scales::update_scales(const Format& format) {
  const std::int64_t count = format.history_HS.shape[1];
  const auto own = [&](const Tensor& all) { return all.view().slice(format.first, Shape{count}); };
  const std::int64_t apart = inverse_scale_SA_.view().shape[1];
  const RowsView inverses = inverse_scale_SA_.view().slice(format.first * apart, Shape{count, apart});
  context_.ops.update_scales({.amax_S = own(amax_S_),
                              .history_HS = format.history_HS,
                              .scale_S = own(scale_S_),
                              .inverse_scale_S1 = inverses.columns(0, 1),
                              .format = format.dtype});
}

std::vector<Fp8Scales::History> Fp8Scales::histories() const {
  std::vector<History> out;
  if (!e4m3_history_HS_.defined()) return out;
  for (std::size_t i = 0; i < linears_.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    out.push_back({linears_[i].name + ".input", e4m3_history_HS_, 2 * column});
    out.push_back({linears_[i].name + ".weight", e4m3_history_HS_, 2 * column + 1});
    out.push_back({linears_[i].name + ".gradient", e5m2_history_HS_, column});
  }
  return out;
}

// The newest row is set as the amax of a step that has just been taken.
void Fp8Scales::restore(const std::function<std::vector<float>(const std::string& name)>& amax_of) {
  const auto all = histories();
  if (all.empty()) return;
  for (const auto& format : formats()) {
    const std::int64_t rows = format.history_HS.shape[0];
    const std::int64_t columns = format.history_HS.shape[1];
    std::vector<float> newest(static_cast<std::size_t>(columns));
    std::vector<float> older(static_cast<std::size_t>(rows * columns));
    for (const auto& history : all) {
      if (history.rows_HS.data != format.history_HS.data) continue;
      const auto amax = amax_of(history.name);
      if (amax.empty()) continue;
      newest[static_cast<std::size_t>(history.column)] = amax.front();
      for (std::int64_t row = 1; row < std::min(rows, std::ssize(amax)); ++row) {
        older[static_cast<std::size_t>((row - 1) * columns + history.column)] = amax[static_cast<std::size_t>(row)];
      }
    }
    context_.ops.upload(amax_S_.view().slice(format.first, Shape{columns}), newest.data());
    context_.ops.upload(format.history_HS, older.data());
    update_scales(format);
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
