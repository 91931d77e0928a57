// Random runs, for tests of properties that hold for every run: small models of every kind that the engine supports,
// over meshes of both levels, with every policy and precision. Sizes are odd on purpose: few of them are divisible.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>

#include "workloads/spec/expert_rows.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::engine {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(seed) {}

  // Both ends are included. Uses the remainder, because standard distributions differ between libraries.
  std::int64_t number(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool once_in(std::int64_t times) { return number(1, times) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[number(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  template <class Enum>
  Enum any() {
    const auto& names = spec::EnumNames<Enum>::kNames;
    return names[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(names.size()) - 1))].first;
  }

 private:
  std::mt19937_64 bits_;
};

// The prime factors of `ranks`, dealt out to axes. With experts, their axis gets them twice as often.
inline spec::MeshSpec random_mesh(Draws& draws, std::int64_t ranks, bool has_experts) {
  using spec::MeshAxes;
  spec::MeshSpec mesh;
  for (std::int64_t factor = 2; ranks > 1;) {
    if (ranks % factor != 0) {
      ++factor;
      continue;
    }
    ranks /= factor;
    auto& level = draws.once_in(3) ? mesh.dcn : mesh.ici;
    const auto axis = draws.one_of({&MeshAxes::dp, &MeshAxes::fsdp, &MeshAxes::tp, &MeshAxes::pp});
    level.*(has_experts && draws.once_in(3) ? &MeshAxes::ep : axis) *= factor;
  }
  return mesh;
}

inline spec::ModelSpec random_model(Draws& draws, std::int64_t tp, std::int64_t chunks) {
  spec::ModelSpec model;
  model.name = "random";
  model.layers = draws.number(1, 6);
  if (model.layers < chunks) model.layers = chunks + draws.number(0, 2);
  model.d_model = draws.number(8, 40);  // norms over fewer elements are chaotic
  model.n_heads = tp * draws.number(1, 3);
  do {
    model.n_kv_heads = draws.number(1, model.n_heads);
  } while (model.n_heads % model.n_kv_heads != 0 || (model.n_kv_heads % tp != 0 && tp % model.n_kv_heads != 0));
  model.position.kind = draws.any<spec::PositionKind>();
  model.position.rope_layout = draws.any<spec::RopeLayout>();
  model.position.rope_scaling = draws.any<spec::RopeScaling>();
  model.position.t5_buckets = draws.number(1, 12);
  model.position.t5_max_distance = draws.number(1, 24);
  if (draws.once_in(3)) model.attention_scale = static_cast<double>(draws.number(1, 4)) / 4.0;
  model.head_dim = model.position.kind == spec::PositionKind::rope ? 2 * draws.number(1, 6) : draws.number(1, 12);
  model.d_ff = draws.number(std::max<std::int64_t>(tp, 3), 50);
  model.vocab_size = draws.number(std::max<std::int64_t>(tp, 3), 90);
  model.norm = draws.any<spec::NormKind>();
  model.activation = draws.any<spec::Activation>();
  model.bias = draws.any<spec::BiasKind>();
  const bool heads_may_have_norms = model.norm == spec::NormKind::rmsnorm && model.head_dim >= 8;
  if (heads_may_have_norms) model.qk_norm = draws.any<spec::QkNorm>();
  model.tied_embedding = draws.once_in(2);
  model.init_std = 0.2;
  return model;
}

// Capacities are in quarters, so that computations with them have no rounding.
inline spec::MoeSpec random_experts(Draws& draws, const spec::MeshSpec& mesh) {
  spec::MoeSpec moe;
  const std::int64_t ep = mesh.ep();
  moe.n_experts = ep == 1 ? draws.number(2, 8) : ep * draws.number(1, std::max<std::int64_t>(1, 8 / ep));
  moe.routing = draws.any<spec::MoeRouting>();
  const bool gshard = moe.routing == spec::MoeRouting::top2_gshard;
  moe.top_k = gshard ? 2 : draws.number(1, std::min<std::int64_t>(3, moe.n_experts));
  if (gshard || draws.once_in(2)) moe.capacity_factor = static_cast<double>(draws.number(2, 10)) / 4.0;
  moe.layer_stride = draws.number(1, 3);
  moe.d_ff = draws.number(std::max<std::int64_t>(mesh.tp(), 3), 50);
  moe.activation = draws.any<spec::Activation>();
  moe.load_balance_weight = static_cast<double>(draws.number(0, 4)) / 4.0;
  return moe;
}

inline bool has_expert_buffer(const spec::RunSpec& run) {
  const auto& moe = run.model.moe;
  return moe.n_experts > 0 && spec::drops_none(moe) && run.mesh.ep() > 1;
}

// A place for every name, or the default place for names that are left out.
inline std::map<std::string, spec::SavePlace> random_places(Draws& draws) {
  std::map<std::string, spec::SavePlace> places;
  for (const auto& [name, text] : spec::EnumNames<spec::Saved>::kNames) {
    const auto place = draws.any<spec::SavePlace>();
    const bool must_be_kept = name == spec::Saved::layer_input && place == spec::SavePlace::remat;
    if (!must_be_kept && !draws.once_in(4)) places.emplace(text, place);
  }
  return places;
}

// Gives them the same place, as one buffer needs.
inline void place_alike(std::map<std::string, spec::SavePlace>& places, const std::string& first,
                        std::initializer_list<const char*> others) {
  for (const auto* const other : others) {
    places.erase(other);
    if (const auto found = places.find(first); found != places.end()) places.emplace(other, found->second);
  }
}

inline spec::RunSpec any_run(Draws& draws, std::int64_t ranks, spec::Device device) {
  spec::RunSpec run;
  run.device = device;
  const bool has_experts = draws.once_in(3);
  run.mesh = random_mesh(draws, ranks, has_experts);
  const std::int64_t stages = run.mesh.pp();
  // As few layers as several chunks need, so that walks are short.
  if (stages > 1) run.pipeline_chunks = draws.number(1, std::clamp<std::int64_t>(12 / stages, 1, 3));
  run.model = random_model(draws, run.mesh.tp(), stages * run.pipeline_chunks);
  if (has_experts) run.model.moe = random_experts(draws, run.mesh);
  if (has_expert_buffer(run)) run.expert_buffer_factor = static_cast<double>(draws.number(4, 16)) / 4.0;
  run.seq_len = draws.number(1, 19);
  run.model.max_seq_len = run.seq_len + draws.number(0, 9);
  run.grad_accum = run.pipeline_chunks > 1 ? stages * draws.number(1, 2) : draws.number(1, 5);
  run.global_batch = run.mesh.data_shards() * run.grad_accum * draws.number(1, 3);
  run.precision = draws.any<spec::Precision>();
  if (run.precision == spec::Precision::fp8) {
    run.fp8_scaling = draws.any<spec::Fp8Scaling>();
    if (run.fp8_scaling == spec::Fp8Scaling::delayed) run.fp8_amax_history = draws.number(1, 20);
  }
  if (spec::computes_in_bf16(run.precision)) {
    run.rounding = draws.any<spec::Rounding>();
    if (run.rounding == spec::Rounding::nearest) run.bf16_weights = draws.any<spec::Bf16Weights>();
  }
  run.attention = draws.any<spec::AttentionKind>();
  const auto policies = spec::remat_policy_names();
  // Half of the runs have custom plans.
  run.remat = draws.once_in(2)
                  ? spec::kCustomRemat
                  : policies[static_cast<std::size_t>(draws.number(0, static_cast<std::int64_t>(policies.size()) - 1))];
  if (run.remat == spec::kCustomRemat) run.remat_custom = random_places(draws);
  run.fused_qkv = draws.once_in(2);
  run.fused_mlp = draws.once_in(2);
  if (draws.once_in(2)) place_alike(run.remat_custom, "query_proj", {"key_proj", "value_proj"});
  if (draws.once_in(2)) place_alike(run.remat_custom, "mlpwi_0", {"mlpwi_1"});
  run.scan = draws.once_in(2);
  run.loss_chunk_tokens = draws.once_in(2) ? 512 : draws.number(1, 40);
  run.fsdp_prefetch = draws.number(0, 1);
  run.all_reduce_combine_bytes = draws.once_in(2) ? 0 : draws.number(1, 20'000);
  run.device_graphs = draws.once_in(2);
  run.deterministic = draws.once_in(2);
  run.optimizer.moments = draws.any<spec::StateType>();
  run.optimizer.gradients = draws.any<spec::StateType>();
  run.optimizer.learning_rate = 1e-2;
  run.optimizer.clip_norm = draws.one_of({0.0, 1.0});
  run.steps = 3;
  run.embedding = draws.any<spec::EmbeddingKind>();
  if (spec::computes_in_bf16(run.precision)) run.logits = draws.any<spec::LogitsType>();
  if (run.attention == spec::AttentionKind::flash && device == spec::Device::cuda) {
    run.attention_kernel = draws.any<spec::AttentionChoice>();
  }
  return run;
}

// Every fourth run trains adapters, of ranks below and above the model's widths. Half of them merge these before the
// evaluation.
inline void adapt_some(std::uint64_t seed, spec::RunSpec& run) {
  if (seed % 4 != 1) return;
  Draws draws(seed + 1'000'000);
  run.task = spec::Task::lora;
  run.lora.rank = draws.number(1, 45);
  if (draws.once_in(2)) run.lora.alpha = static_cast<double>(draws.number(1, 16));
  run.lora.targets = run.model.moe.n_experts > 0 ? spec::LoraTargets::attention : draws.any<spec::LoraTargets>();
  if (draws.once_in(2)) return;
  run.lora.merge = true;
  run.evaluation.path = "made up";
}

// Every fifth run has dropout in one to three places.
inline void drop_some(std::uint64_t seed, spec::RunSpec& run) {
  if (seed % 5 != 3) return;
  if (seed % 3 != 0) run.dropout.input = 0.125;
  if (seed % 3 != 1) run.dropout.residual = 0.25;
  if (seed % 2 == 0) run.dropout.layer_input = 0.0625;
}

// A random run on `ranks` ranks that can run; the same one for the same seed.
inline spec::RunSpec random_run(std::uint64_t seed, std::int64_t ranks, spec::Device device) {
  Draws draws(seed);
  for (;;) {
    auto run = any_run(draws, ranks, device);
    if (spec::unsupported(run)) continue;
    try {
      spec::validate(run);
      adapt_some(seed, run);
      drop_some(seed, run);
      if (seed % 3 == 2 && !run.lora.used()) run.task = spec::Task::sft;
      if (seed % 4 == 1 && run.seq_len > 1) run.data.packing = spec::Packing::documents;
      return run;
    } catch (const spec::SpecError&) {
    }
  }
}

}  // namespace perfbench::engine
