// Adapters of low rank beside frozen weights (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models",
// arXiv:2106.09685): y = W x + alpha/rank * B A x, A [rank, in], B [out, rank]. Only A and B are trained.
#pragma once

#include <cstdint>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// The linear layers that have adapters. attention: query, key, value and out; mlp: gate, up and down.
enum class LoraTargets { all, attention, mlp };
template <>
struct EnumNames<LoraTargets> {
  static constexpr std::array kNames{std::pair{LoraTargets::all, "all"}, std::pair{LoraTargets::attention, "attention"},
                                     std::pair{LoraTargets::mlp, "mlp"}};
};

// rank 0: no adapters.
struct LoraSpec {
  std::int64_t rank = 0;
  // 0: equal to rank. Pax has no alpha and adds B A to the weight without a factor (praxis,
  // contrib/gpu/scripts_gpu/lora_layers.py), which is a factor of 1.
  double alpha = 0.0;
  LoraTargets targets = LoraTargets::all;
  // After the last step, W + alpha/rank * B A replaces W, rounded once to W's type, and B becomes 0. The evaluation
  // then uses only the weights, as a deployment would.
  bool merge = false;

  constexpr bool operator==(const LoraSpec&) const = default;
  constexpr bool used() const { return rank > 0; }
  // The factor of B A x.
  constexpr double factor() const { return alpha == 0.0 ? 1.0 : alpha / static_cast<double>(rank); }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"rank", "rank of the adapters, 0 for none", 0, 1e5}, self.rank);
    f(Field{"alpha", "their sum is multiplied by alpha/rank; 0: by 1", 0.0, 1e6}, self.alpha);
    f(Field{"targets", "whose linear layers have them: all, attention or mlp"}, self.targets);
    f(Field{"merge", "they are added to the weights before the evaluation at the end"}.omitted_at_default(),
      self.merge);
  }
};

}  // namespace perfbench::spec
