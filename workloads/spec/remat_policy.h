// Rematerialisation policies: for every named intermediate of a layer, whether it waits for the backward pass on the
// device, in host memory, or is computed again. The names are the ones MaxText's policies use.
//
//   layer_input        input of the layer, the residual stream
//   norm_statistics    mean and reciprocal standard deviation of the norms; in a layer of experts also what
//                      the router says of each token
//   query_proj, key_proj, value_proj   after RoPE; queries and keys that have a norm of heads before that norm
//   attention_weights  softmax probabilities; exists with attention: dot_product only
//   context            output of attention before the output projection, with the rows' logsumexp
//   out_proj           output projection. Kept as the residual sum it is part of (layer_input + out_proj): equal bytes,
//                      and backward needs the sum
//   mlpwi_0, mlpwi_1   gate (or the only) and up projection
//   mlpwo              down projection. In a pre-norm decoder no backward product reads it and the next layer_input
//                      contains it: naming it costs nothing
//   moe_mlpwi_0, moe_mlpwi_1, moe_mlpwo   the same of experts, by the rows that were sent to them. Their mlpwo is read
//                      by the gradient of the gates. Placed as their namesakes unless `custom` names them
//
// Norm outputs and activation products have no name: backward rebuilds them from the above in an elementwise pass.
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
  // Whether backward finds the value (on the device or brought back from the host) instead of computing it.
  bool keeps(Saved name) const { return (*this)[name] != SavePlace::remat; }
  // Whether these have one place, so that one buffer can hold them.
  bool places_alike(std::initializer_list<Saved> names) const {
    return std::ranges::all_of(names, [&](Saved name) { return (*this)[name] == (*this)[*names.begin()]; });
  }
  bool operator==(const RematPlan&) const = default;

 private:
  std::array<SavePlace, kSavedNames> places_{};
};

// Names of the shipped policies, `custom` last.
std::vector<std::string> remat_policy_names();

// The plan of run.remat (and run.remat_custom). layer_input is never `remat`: there is nothing to compute it from.
// Throws SpecError with pointer /remat or /remat_custom/NAME.
RematPlan resolve_remat(const RunSpec& run);

}  // namespace perfbench::spec
