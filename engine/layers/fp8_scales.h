// Precision fp8: which operands of linear layers are rounded to 8 bits, and with which scales.
//
// The operands of the products of attention's projections (query, key, value, out) and of dense feed-forward layers
// (gate, up, down) are rounded, as in Transformer Engine's modules: inputs and weights to e4m3, gradients of outputs
// to e5m2. All else keeps its precision: experts and their router, adapters, embedding and unembedding, norms, and
// attention itself. Layers with the same input (query, key and value; gate and up) share one scale each for input,
// weights and gradients, whether they are one product or several.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/sharding/unit.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

enum class Fp8Role { input, weight, gradient };  // gradient: of the outputs
inline constexpr std::size_t kFp8Roles = 3;

// Linear layers with the same input.
struct Fp8Linear {
  std::string name;  // "layers.3.qkv"
  std::array<QuantizationState, kFp8Roles> states;
  spec::Fp8Scaling scaling = spec::Fp8Scaling::delayed;

  const QuantizationState& state(Fp8Role role) const { return states[static_cast<std::size_t>(role)]; }
};

// The scales of all layers of a rank, for the whole run.
class Fp8Scales {
 public:
  // `layers` are the units of this rank's decoder layers.
  Fp8Scales(const Context& context, const spec::RunSpec& run, const std::vector<const UnitLayout*>& layers);
  Fp8Scales(const Fp8Scales&) = delete;
  Fp8Scales& operator=(const Fp8Scales&) = delete;

  // Whether the scales of a step come from previous steps.
  static bool look_back(const spec::RunSpec& run);
  // The linear layer of that name ("query") in the unit; null if its products do not read 8 bits.
  const Fp8Linear* find(const UnitLayout& layer, std::string_view linear) const;
  // Called at the end of a step if scales come from previous steps. The amax becomes the largest magnitude that any
  // rank of the layers has met, and the next step gets new scales.
  void update();

  // The part of the training state that such scales need: for each operand of a linear layer the amax of previous
  // steps, newest first, in a column of [H, S]. It is the same on every rank of the layer.
  struct History {
    std::string name;  // "layers.3.qkv.input"
    TensorView rows_HS;
    std::int64_t column = 0;
  };
  std::vector<History> histories() const;
  // Restores the state after the steps that met these values: `amax_of` returns the known values of a history, by its
  // name, newest first. The next step gets the scales that it would have had.
  void restore(const std::function<std::vector<float>(const std::string& name)>& amax_of);

 private:
  // The histories of one format, and their places among all.
  struct Format {
    DType dtype;
    TensorView history_HS;
    std::int64_t first = 0;  // offset along S in the tensors of all states
  };
  std::array<Format, 2> formats() const;
  void update_scales(const Format& format);

  const Context& context_;
  std::vector<Fp8Linear> linears_;
  // f32: first of the inputs and weights of all linears_, then of their gradients.
  Tensor amax_S_;
  Tensor scale_S_;
  Tensor inverse_scale_SA_;  // the first element of each row; rows are as far apart as products require of scales
  Tensor e4m3_history_HS_;
  Tensor e5m2_history_HS_;
};

// An operand of a product, rounded to 8 bits or not.
struct Operand {
  RowsView rows;
  TensorView inverse_scale = {};
};

// An operand, with the buffer that holds its rounded values if it was rounded.
struct RoundedOperand {
  Tensor buffer;
  Operand operand;
};

// A buffer for values that are rounded with one scale.
RoundedOperand room_for_rounded(const Context& context, const Fp8Linear& fp8, Fp8Role role, Shape shape);
// Rounds tensors with one scale into such a buffer.
void round_together(const Context& context, const Fp8Linear& fp8, Fp8Role role,
                    std::span<const QuantizeArgs::Rounded> tensors);
// Rounds one tensor; returns it unchanged if `fp8` is null.
RoundedOperand rounded(const Context& context, const Fp8Linear* fp8, Fp8Role role, RowsView rows);

}  // namespace perfbench::engine
