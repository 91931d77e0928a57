// Rematerialisation policies: for every named intermediate of a layer, whether it stays on the device until the
// backward pass, goes to host memory, or is recomputed. The names are those of MaxText's policies.
//
//   layer_input        input of the layer, the residual stream
//   norm_statistics    mean and reciprocal standard deviation of the norms; in a layer of experts also the router's
//                      results for each token
//   query_proj, key_proj, value_proj   after RoPE; if heads have a norm, queries and keys before that norm
//   attention_weights  softmax probabilities; exists only with attention: dot_product
//   context            output of attention before the output projection, with the rows' logsumexp
//   out_proj           output projection. Kept as the residual sum it is part of (layer_input + out_proj): equal bytes,
//                      and backward needs the sum
//   mlpwi_0, mlpwi_1   gate (or the only) and up projection
//   mlpwo              down projection. In a pre-norm decoder no backward product reads it and the next layer_input
//                      contains it: naming it costs nothing
//   moe_mlpwi_0, moe_mlpwi_1, moe_mlpwo   the same for experts, in the rows sent to them. The gradient of the gates
//                      reads their mlpwo. Placed as their namesakes unless `custom` names them
//
// Norm outputs and activation products have no name: backward recomputes them from the above in an elementwise pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

struct RunSpec;

enum class Saved {
  layer_input,
  norm_statistics,
  query_proj,
  key_proj,
  value_proj,
  attention_weights,
  context,
  out_proj,
  mlpwi_0,
  mlpwi_1,
  mlpwo,
  moe_mlpwi_0,
  moe_mlpwi_1,
  moe_mlpwo,
};
inline constexpr std::size_t kSavedNames = 14;
template <>
struct EnumNames<Saved> {
  static constexpr std::array<std::pair<Saved, std::string_view>, kSavedNames> kNames{{
      {Saved::layer_input, "layer_input"},
      {Saved::norm_statistics, "norm_statistics"},
      {Saved::query_proj, "query_proj"},
      {Saved::key_proj, "key_proj"},
      {Saved::value_proj, "value_proj"},
      {Saved::attention_weights, "attention_weights"},
      {Saved::context, "context"},
      {Saved::out_proj, "out_proj"},
      {Saved::mlpwi_0, "mlpwi_0"},
      {Saved::mlpwi_1, "mlpwi_1"},
      {Saved::mlpwo, "mlpwo"},
      {Saved::moe_mlpwi_0, "moe_mlpwi_0"},
      {Saved::moe_mlpwi_1, "moe_mlpwi_1"},
      {Saved::moe_mlpwo, "moe_mlpwo"},
  }};
};

inline constexpr std::string_view kCustomRemat = "custom";

class RematPlan {
 public:
  SavePlace operator[](Saved name) const { return places_[static_cast<std::size_t>(name)]; }
  SavePlace& operator[](Saved name) { return places_[static_cast<std::size_t>(name)]; }
  // Whether the backward pass finds the value (on the device, or brought back from the host) and need not recompute it.
  bool keeps(Saved name) const { return (*this)[name] != SavePlace::remat; }
  // Whether these have the same place, so that one buffer can hold them.
  bool places_alike(std::initializer_list<Saved> names) const {
    return std::ranges::all_of(names, [&](Saved name) { return (*this)[name] == (*this)[*names.begin()]; });
  }
  bool operator==(const RematPlan&) const = default;

 private:
  std::array<SavePlace, kSavedNames> places_{};
};

// Names of the shipped policies, `custom` last.
std::vector<std::string> remat_policy_names();

// The plan for run.remat (and run.remat_custom). layer_input is never `remat`: there is nothing to recompute it from.
// Throws SpecError with pointer /remat or /remat_custom/NAME.
RematPlan resolve_remat(const RunSpec& run);

}  // namespace perfbench::spec
