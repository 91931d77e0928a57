// The floating point operations that training on one token counts for, under the definitions in public use. Projects
// state MFU under different ones; numbers are comparable only after they are recomputed under one definition.
//
//   Nm  parameters that multiply a token (parameter_table.h: attention, FFN or top-k experts, router, unembedding)
//   N   all parameters      L layers      h heads      e head_dim      d d_model      T sequence length
//
// Each weight costs a multiplication and an addition forward and twice that backward: 6 per token. The two products of
// attention cost 2*h*e*T each per token and layer forward, 12*L*h*e*T in all; a causal mask leaves half of it.
//
// A run that trains only adapters has no gradients of the model's weights: each of these costs 4 instead of 6, and each
// weight of the adapters costs 6 (lora_spec.h).
#pragma once

#include <cstdint>

#include "workloads/spec/enum_names.h"
#include "workloads/spec/lora_spec.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::spec {

enum class FlopDefinition {
  causal,       // 6*Nm + 6*L*h*e*T   Megatron-LM since 2025-03, MaxText since 2025-07, llm.c; the default
  palm,         // 6*Nm + 12*L*h*e*T  PaLM (arXiv:2204.02311, appendix B), torchtitan, older Megatron-LM and MaxText
  six_n_total,  // 6*N                seqax; also counts embedding lookups, leaves attention out
  llm_foundry,  // 6*N + 12*L*d*T     llm-foundry (scripts/train/benchmarking/README.md): all of N, with T rows of
                // learned
                //                    positions, no causal mask, and attention as wide as the model
};
template <>
struct EnumNames<FlopDefinition> {
  static constexpr std::array kNames{
      std::pair{FlopDefinition::causal, "causal"}, std::pair{FlopDefinition::palm, "palm"},
      std::pair{FlopDefinition::six_n_total, "six_n_total"}, std::pair{FlopDefinition::llm_foundry, "llm_foundry"}};
};

// FLOP per trained token, forward and backward. Exact up to 2^53.
double flops_per_token(FlopDefinition definition, const ModelSpec& model, std::int64_t seq_len,
                       const LoraSpec& lora = {});

// Model FLOP/s over the peak, a fraction. Above 1, one of the three numbers is wrong. The utilisation that also counts
// recomputation (HFU) takes its FLOPs from the schedule: FlopCounts::executed_flops (work_record.h).
constexpr double utilisation(double tokens_per_s_per_device, double flops_per_token, double peak_flops_per_s) {
  return tokens_per_s_per_device * flops_per_token / peak_flops_per_s;
}

}  // namespace perfbench::spec
