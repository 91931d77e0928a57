// Precision fp8: what the products of a linear layer read in 8 bits, and with which scales.
//
// Rounded are the operands of the products of attention's projections (query, key, value, out) and of dense
// feed-forward layers (gate, up, down), as in Transformer Engine's modules: inputs and weights to e4m3, gradients by
// outputs to e5m2. Nothing else is: not experts and their router, adapters, embedding and unembedding, norms, nor
// attention itself. Layers of one input (query, key and value; gate and up) have one scale for each of input, weights
// and gradients, whether they are one product or several.
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

enum class Fp8Role { input, weight, gradient };  // by the outputs
inline constexpr std::size_t kFp8Roles = 3;

// Of the linear layers of one input.
struct Fp8Linear {
  std::string name;  // "layers.3.qkv"
  std::array<QuantizationState, kFp8Roles> states;
  spec::Fp8Scaling scaling = spec::Fp8Scaling::delayed;

  const QuantizationState& state(Fp8Role role) const { return states[static_cast<std::size_t>(role)]; }
};

// Of all layers of a rank, for the whole run.
class Fp8Scales {
 public:
  // `layers`: the units of this rank's decoder layers.
  Fp8Scales(const Context& context, const spec::RunSpec& run, const std::vector<const UnitLayout*>& layers);
  Fp8Scales(const Fp8Scales&) = delete;
  Fp8Scales& operator=(const Fp8Scales&) = delete;

  // Whether the scales of a step come from the steps before it.
  static bool look_back(const spec::RunSpec& run);
  // Of the linear layer of that name ("query") in the unit; null where its products read what they are given.
  const Fp8Linear* find(const UnitLayout& layer, std::string_view linear) const;
  // At the end of a step, where they look back: the largest magnitude that any rank of the layers has met is the amax
  // of all of them, and the next step has other scales.
  void update();

  // What training goes on from, where scales look back: of each linear layer's operand the amax of the steps before,
  // the newest first, a column of [H, S]. The same on every rank of the layer.
  struct History {
    std::string name;  // "layers.3.qkv.input"
    TensorView rows_HS;
    std::int64_t column = 0;
  };
  std::vector<History> histories() const;
  // As after the steps that met these: `amax_of` gives of a history's name as many as are known, the newest first. The
  // next step has the scales it would have had.
  void restore(const std::function<std::vector<float>(const std::string& name)>& amax_of);

 private:
  // Of the states of one format: their histories, and their places among all.
  struct Format {
    DType dtype;
    TensorView history_HS;
    std::int64_t first = 0;  // of S, in the tensors of all states
  };
  std::array<Format, 2> formats() const;
  void update_scales(const Format& format);

  const Context& context_;
  std::vector<Fp8Linear> linears_;
  // f32, of the inputs and weights of all linears_, then of their gradients.
  Tensor amax_S_;
  Tensor scale_S_;
  Tensor inverse_scale_SA_;  // the first of each row, which are as far apart as products want scales
  Tensor e4m3_history_HS_;
  Tensor e5m2_history_HS_;
};

// What a product reads: as it was given, or in 8 bits.
struct Operand {
  RowsView rows;
  TensorView inverse_scale = {};
};

// With the buffer that it was rounded into, if it was.
struct RoundedOperand {
  Tensor buffer;
  Operand operand;
};

// Room for what is rounded with one scale.
RoundedOperand room_for_rounded(const Context& context, const Fp8Linear& fp8, Fp8Role role, Shape shape);
// Tensors that are rounded with one scale, into such a room.
void round_together(const Context& context, const Fp8Linear& fp8, Fp8Role role,
                    std::span<const QuantizeArgs::Rounded> tensors);
// One tensor; as it is where `fp8` is null.
RoundedOperand rounded(const Context& context, const Fp8Linear* fp8, Fp8Role role, RowsView rows);

}  // namespace perfbench::engine
