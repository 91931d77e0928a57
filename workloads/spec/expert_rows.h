// The number of rows that the experts of a run process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "workloads/spec/divide_up.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::spec {

// Whether experts take all choices, and so have no slots.
inline bool drops_none(const MoeSpec& moe) {
  return moe.capacity_factor <= 0.0;
}

// The number of a model's layers that have experts.
inline std::int64_t expert_layers(const ModelSpec& model) {
  return model.moe.n_experts == 0 ? 0 : divide_up(model.layers, model.moe.layer_stride);
}

// The choices of all tokens in a step, in all layers.
inline std::int64_t choices_of_step(const RunSpec& run) {
  return run.global_batch * run.seq_len * run.model.moe.top_k * expert_layers(run.model);
}

// Slots of an expert for the choices of one sequence's tokens; 0: it takes all. The reference systems define their
// capacity factor differently:
//   top2_gshard   over the even share of tokens, T/E; above one slot rounded up to a multiple of 4
//                 (google/praxis, praxis/gshard_utils.py, top2_gating_on_logits)
//   topk_softmax  over the even share of choices, ceil(T*C/E)
//                 (google/maxtext, layers/moe.py, expert_capacity_per_batch; torchprime follows it)
inline std::int64_t expert_slots(const MoeSpec& moe, std::int64_t seq_len) {
  if (drops_none(moe)) return 0;
  if (moe.routing == MoeRouting::top2_gshard) {
    const auto slots = static_cast<std::int64_t>(static_cast<double>(seq_len) * moe.capacity_factor /
                                                 static_cast<double>(moe.n_experts));
    return slots > 1 ? (slots + 3) / 4 * 4 : 1;
  }
  const std::int64_t share = divide_up(seq_len * moe.top_k, moe.n_experts);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(share) * moe.capacity_factor));
}

// The rows of a microbatch that a rank sends to each rank of the experts. A token chooses an expert at most once.
inline std::int64_t expert_rows(const RunSpec& run) {
  const auto& moe = run.model.moe;
  const std::int64_t ranks = run.mesh.ep();
  if (const auto slots = expert_slots(moe, run.seq_len)) return moe.n_experts / ranks * run.microbatch() * slots;
  const std::int64_t choices = run.microbatch() * run.seq_len * moe.top_k;
  if (ranks == 1) return choices;
  const double share = static_cast<double>(choices) / static_cast<double>(ranks);
  const std::int64_t most = choices / moe.top_k * std::min(moe.top_k, moe.n_experts / ranks);
  return std::min(most, static_cast<std::int64_t>(std::ceil(share * run.expert_buffer_factor)));
}

// The most of these rows that one expert may have to multiply.
inline std::int64_t most_rows_of_expert(const RunSpec& run) {
  if (const auto slots = expert_slots(run.model.moe, run.seq_len)) return run.microbatch() * slots;
  return std::min(expert_rows(run), run.microbatch() * run.seq_len);
}

}  // namespace perfbench::spec
