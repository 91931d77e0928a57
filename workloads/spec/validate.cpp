#include "workloads/spec/validate.h"

#include <algorithm>
#include <vector>

#include "workloads/spec/divide_up.h"
#include "workloads/spec/expert_rows.h"
#include "workloads/spec/flops.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

[[noreturn]] void reject(const char* pointer, const std::string& message) {
  throw SpecError(pointer, message);
}

std::string number(std::int64_t value) {
  return std::to_string(value);
}

// In double precision, because a product of absurd widths would overflow the exact count.
double approximate_parameters(const ModelSpec& model) {
  const auto sum = [](const std::vector<ParameterSpec>& table) {
    double total = 0;
    for (const auto& parameter : table) {
      double elements = 1;
      for (const auto d : parameter.shape) elements *= static_cast<double>(d);
      total += elements;
    }
    return total;
  };
  return sum(outer_parameters(model)) + static_cast<double>(model.layers) * sum(layer_parameters(model, 0));
}

// A thousand times the largest existing model; beyond it, counts of FLOPs and bytes would not fit 64 bits.
constexpr double kMostParameters = 1e15;

// Counts are 64-bit; recomputation adds at most a third.
constexpr double kMostFlopsPerRank = 4e18;

// A rank of a tensor or pipeline parallel mesh computes its share of the layers; one stage computes the unembedding.
double flops_of_a_rank(const RunSpec& run) {
  const double tokens = static_cast<double>(run.sequences_per_rank()) * static_cast<double>(run.seq_len);
  const double all = tokens * flops_per_token(FlopDefinition::palm, run.model, run.seq_len);
  const double unembedding =
      6 * tokens * static_cast<double>(run.model.vocab_size) * static_cast<double>(run.model.d_model);
  const double embedding = run.embedding == EmbeddingKind::one_hot ? unembedding * 2 / 3 : 0;
  // The parts of adapters that several ranks along tp compute are not divided among them.
  const double adapters = 6 * tokens * static_cast<double>(count_adapters(run.model, run.lora));
  const std::int64_t chunks = run.mesh.pp() * run.pipeline_chunks;
  const std::int64_t layers = divide_up(run.model.layers, chunks) * run.pipeline_chunks;  // of the fullest stage
  const double of_layers = static_cast<double>(layers) / static_cast<double>(run.model.layers);
  return (unembedding + embedding + of_layers * (all - unembedding)) / static_cast<double>(run.mesh.tp()) +
         of_layers * adapters;
}

// The rows of a microbatch for experts: an upper bound for a rank (expert_rows.h), in double precision, because the
// request may be absurd.
double experts_work(const RunSpec& run) {
  const auto& moe = run.model.moe;
  const double choices = static_cast<double>(run.seq_len) * static_cast<double>(moe.top_k);
  const auto experts = static_cast<double>(moe.n_experts);
  const double rows = drops_none(moe) ? choices * static_cast<double>(run.mesh.ep())
                                      : (choices + experts) * moe.capacity_factor + 4 * experts;
  return static_cast<double>(run.microbatch()) * std::max(rows, choices);
}

// Grids of GPUs and sums in f32 support this many.
constexpr double kMostExpertRows = 4194304.0;

void check_countable(const RunSpec& run) {
  double flops = flops_of_a_rank(run);
  // The definitions count a token's choices; slots are computed whether they are used or not.
  if (run.model.moe.n_experts > 0) flops *= std::max(1.0, run.model.moe.capacity_factor);
  if (flops > kMostFlopsPerRank) {
    reject("/global_batch", number(run.sequences_per_rank()) + " sequences of " + number(run.seq_len) +
                                " tokens per rank are more work than can be counted exactly (4e18 FLOP a step); use a "
                                "smaller global_batch or seq_len, or more dp, fsdp, tp or pp");
  }
}

// A plan walks a whole step of every cell, microbatch by microbatch. This many passes take half a minute.
constexpr std::int64_t kMostLayerPasses = 2'000'000;  // of a microbatch through a layer
constexpr std::int64_t kMostLossChunks = 20'000'000;

// In double precision, because the request may be absurd.
void check_walkable(const RunSpec& run) {
  const auto microbatches = static_cast<double>(run.grad_accum);
  const auto layers = static_cast<double>(run.model.layers);
  if (microbatches * layers > static_cast<double>(kMostLayerPasses)) {
    const bool is_accumulation = run.grad_accum > run.model.layers;
    const auto other = is_accumulation ? run.model.layers : run.grad_accum;
    reject(is_accumulation ? "/grad_accum" : "/model/layers",
           (is_accumulation ? "grad_accum " + number(run.grad_accum) + " with " + number(other) + " layers"
                            : number(run.model.layers) + " layers with grad_accum " + number(other)) +
               " exceed the passes of a microbatch through a layer that a plan can walk (" + number(kMostLayerPasses) +
               "); use " + (is_accumulation ? "a grad_accum" : "layers") + " of at most " +
               number(kMostLayerPasses / other));
  }
  const double rows = static_cast<double>(run.microbatch()) * static_cast<double>(run.seq_len);
  const double chunks = microbatches * rows / static_cast<double>(run.loss_chunk_tokens);
  if (chunks > static_cast<double>(kMostLossChunks)) {
    reject("/loss_chunk_tokens", "loss_chunk_tokens " + number(run.loss_chunk_tokens) +
                                     " cuts the logits of a step into more chunks than a plan can walk (" +
                                     number(kMostLossChunks) +
                                     "); use a larger loss_chunk_tokens, or a smaller global_batch or seq_len");
  }
}

void check_pipeline(const RunSpec& run) {
  const auto stages = run.mesh.pp();
  const auto chunks = run.pipeline_chunks;
  if (chunks > 1 && stages == 1) {
    reject("/pipeline_chunks", "pipeline_chunks " + number(chunks) + " needs a pipeline; found pp 1");
  }
  if (run.model.layers / chunks < stages) {
    reject("/mesh/ici/pp", number(run.model.layers) + " layers are fewer than the chunks of a pipeline, pp " +
                               number(stages) + " x pipeline_chunks " + number(chunks));
  }
  if (chunks > 1 && run.grad_accum % stages != 0) {
    reject("/pipeline_chunks",
           "an interleaved pipeline sends microbatches through a chunk in groups, one for each stage: "
           "grad_accum " +
               number(run.grad_accum) + " does not divide by pp " + number(stages) +
               "; use pipeline_chunks 1 or another grad_accum");
  }
}

// Heads are not cut, and a rank's query heads either read its own key/value heads or share one.
void check_tensor_parallel(const RunSpec& run) {
  const std::int64_t tp = run.mesh.tp();
  const auto& model = run.model;
  const auto require = [&](bool divides, const char* name, std::int64_t found) {
    if (!divides)
      reject("/mesh/ici/tp", std::string(name) + " " + number(found) + " do not divide over tp " + number(tp));
  };
  require(model.n_heads % tp == 0, "n_heads", model.n_heads);
  require(model.n_kv_heads % tp == 0 || tp % model.n_kv_heads == 0, "n_kv_heads", model.n_kv_heads);
  const auto widest = std::min(model.vocab_size, model.d_ff);
  if (widest < tp) {
    reject("/mesh/ici/tp", "tp " + number(tp) + " is more ranks than vocab_size " + number(model.vocab_size) +
                               " or d_ff " + number(model.d_ff) + " has parts for");
  }
}

// The limit of the routing kernels.
constexpr std::int64_t kMostExperts = 4096;

void check_experts(const MoeSpec& moe) {
  if (moe.n_experts == 0) return;
  if (moe.top_k > moe.n_experts) {
    reject("/moe/top_k", "top_k " + number(moe.top_k) + " is above n_experts " + number(moe.n_experts));
  }
  if (moe.d_ff < 1) reject("/moe/d_ff", "a model with experts needs their hidden width d_ff");
  if (moe.n_experts > kMostExperts) {
    reject("/moe/n_experts", "n_experts " + number(moe.n_experts) + " is above " + number(kMostExperts));
  }
  if (moe.routing != MoeRouting::top2_gshard) return;
  if (moe.top_k != 2)
    reject("/moe/top_k", "routing: top2_gshard chooses two experts, found top_k " + number(moe.top_k));
  if (drops_none(moe)) {
    reject("/moe/capacity_factor",
           "routing: top2_gshard drops choices above a capacity: capacity_factor must be above 0");
  }
}

void check_data(const RunSpec& run) {
  const auto& data = run.data;
  const std::string kind(enum_name(data.kind));
  if (data.kind != DataKind::synthetic && data.path.empty()) {
    reject("/data/path", kind + " data needs the path of a dataset (perfbench data prepare makes one)");
  }
  if (data.kind != DataKind::synthetic && data.split != "train" && data.split != "validation") {
    reject("/data/split", "split is '" + data.split + "', it must be train or validation");
  }
  if (run.packs_documents() && !run.trains()) {
    reject("/data/packing", "task: eval takes a row for each document, found packing: documents; leave it out");
  }
  const bool needs_prompts = run.task == Task::sft || run.task == Task::eval;
  if (needs_prompts && data.kind == DataKind::flat_tokens) {
    const bool tunes = run.task == Task::sft;
    reject("/data/kind", "task: " + std::string(enum_name(run.task)) +
                             " needs data that has prompts, found data.kind: " + kind +
                             "; use synthetic, or instruction (perfbench data prepare --format " +
                             (tunes ? "jsonl" : "lambada, or boolq,") + " makes such data)");
  }
  if (run.task == Task::pretrain && data.kind == DataKind::instruction) {
    reject("/task", "data.kind: instruction has prompts, which have no loss, and padding; use task: sft or lora");
  }
}

void check_lora(const RunSpec& run) {
  const auto& lora = run.lora;
  if (run.task != Task::lora) {
    if (lora == LoraSpec()) return;
    reject("/lora", "adapters are for task: lora, found task: " + std::string(enum_name(run.task)));
  }
  if (!lora.used()) reject("/lora/rank", "task: lora trains adapters: lora.rank must be at least 1");
  if (run.model.moe.n_experts > 0 && lora.targets != LoraTargets::attention) {
    reject("/lora/targets", "lora.targets: " + std::string(enum_name(lora.targets)) +
                                " would adapt experts, which have no adapters here; use lora.targets: attention");
  }
  if (lora.merge && !run.evaluates_at_end()) {
    reject("/lora/merge",
           "lora.merge: true merges adapters for the evaluation at the end, but there is no evaluation to read "
           "the merged weights; set evaluation.path, or leave lora.merge out");
  }
}

void check_dropout(const RunSpec& run) {
  DropoutSpec::fields(run.dropout, [](const Field& place, double rate) {
    const std::string name(place.name);
    if (rate < 1) return;
    throw SpecError("/dropout/" + name,
                    "dropout." + name + ": a dropout rate of 1 would leave no element; it must be below 1");
  });
  if (run.dropout.used() && !run.trains()) {
    reject("/dropout", "task: eval does not train, so it has no dropout; leave dropout out");
  }
}

void check_evaluation(const RunSpec& run) {
  const auto& split = run.evaluation.split;
  if (split != "train" && split != "validation") {
    reject("/evaluation/split", "split is '" + split + "', it must be train or validation");
  }
  if (run.trains()) return;
  if (run.evaluates_at_end()) {
    reject("/evaluation/path", "evaluation is for runs that train; with task: eval set data.path");
  }
  if (run.remat != RunSpec().remat) {
    reject("/remat", "task: eval has no backward pass, so no values can be kept for it; found remat: " + run.remat +
                         ", leave it out");
  }
}

void check_attention_kernel(const RunSpec& run) {
  if (run.attention_kernel == AttentionChoice::automatic) return;
  const std::string asked = "attention_kernel: " + std::string(enum_name(run.attention_kernel));
  if (run.device == Device::cpu) {
    reject("/attention_kernel",
           asked +
               " chooses among kernels of a GPU, but found device: cpu, which has only one kernel; "
               "use attention_kernel: auto");
  }
  if (run.attention != AttentionKind::flash) {
    reject("/attention_kernel",
           asked + " is of attention: flash, found attention: " + std::string(enum_name(run.attention)) +
               ", which uses matrix products; use attention_kernel: auto");
  }
}

void check_profile(const RunSpec& run) {
  const auto& window = run.profile;
  if (window.steps == 0) {
    if (window.first_step != 0) reject("/profile/steps", "profile.first_step begins a window without steps");
    return;
  }
  if (window.first_step < ProfileSpec::kEarliestStep) {
    reject("/profile/first_step", "profile.first_step is " + number(window.first_step) + ", it must be at least " +
                                      number(ProfileSpec::kEarliestStep) +
                                      ": earlier steps choose algorithms and record what later ones replay");
  }
  if (window.first_step + window.steps > run.steps) {
    reject("/profile/steps", "the profile ends after step " + number(window.first_step + window.steps - 1) +
                                 ", but the run has steps 0 to " + number(run.steps - 1) +
                                 "; trace_steps are taken after them");
  }
}

void check_checkpoint(const RunSpec& run) {
  const auto& checkpoint = run.checkpoint;
  if (!run.trains() && checkpoint.saves()) {
    reject("/checkpoint/every_steps",
           "task: eval does not train, so there is nothing to save; leave checkpoint.every_steps out");
  }
  if (!checkpoint.saves() && !checkpoint.path.empty()) {
    reject("/checkpoint/path",
           "checkpoint.path names a folder for checkpoints, but none are saved: set "
           "checkpoint.every_steps (checkpoint.restore names the checkpoint that a run begins from)");
  }
  if (run.trains() && checkpoint.restores() && run.profile.steps > 0) {
    reject("/profile/steps",
           "the steps of a profile count from 0, but a run with checkpoint.restore begins with a later "
           "one; use trace_steps");
  }
}

void check_expert_parallel(const RunSpec& run) {
  const std::int64_t ep = run.mesh.ep();
  const auto& moe = run.model.moe;
  if (moe.n_experts > 0 && moe.d_ff < run.mesh.tp()) {
    reject("/mesh/ici/tp", "tp " + number(run.mesh.tp()) + " is more ranks than the experts' d_ff " + number(moe.d_ff) +
                               " has parts for");
  }
  if (moe.n_experts == 0) {
    if (ep > 1) reject("/mesh/ici/ep", "ep " + number(ep) + " divides experts, but the model has none; use dp or fsdp");
    if (run.expert_buffer_factor != RunSpec().expert_buffer_factor) {
      reject("/expert_buffer_factor", "expert_buffer_factor is for experts, but the model has none");
    }
    return;
  }
  if (moe.n_experts % ep != 0) {
    reject("/mesh/ici/ep", "n_experts " + number(moe.n_experts) + " do not divide over ep " + number(ep));
  }
  if (run.expert_buffer_factor != RunSpec().expert_buffer_factor && (ep == 1 || !drops_none(moe))) {
    reject("/expert_buffer_factor",
           "expert_buffer_factor is for experts that drop no token and are divided over ep; "
           "found ep " +
               number(ep) + " and capacity_factor " + std::to_string(moe.capacity_factor));
  }
  const double rows = experts_work(run);
  if (rows > kMostExpertRows) {
    reject("/global_batch",
           number(run.microbatch()) + " sequences of " + number(run.seq_len) +
               " tokens in a microbatch make more rows for experts than the engine supports (4194304); "
               "use a larger grad_accum or more ranks");
  }
}

void check_fp8_scaling(const RunSpec& run) {
  const RunSpec defaults;
  const bool current = run.fp8_scaling == Fp8Scaling::current;
  const bool looks_back = run.fp8_amax_history != defaults.fp8_amax_history;
  if (run.precision != Precision::fp8 && (current || looks_back)) {
    reject(current ? "/fp8_scaling" : "/fp8_amax_history",
           "fp8_scaling and fp8_amax_history are for precision: fp8, found precision: " +
               std::string(enum_name(run.precision)) + "; leave them out");
  }
  if (current && looks_back) {
    reject("/fp8_amax_history", "fp8_scaling: current has no history; leave fp8_amax_history out");
  }
  if (run.precision == Precision::fp8 && !current && !run.trains()) {
    reject("/fp8_scaling",
           "task: eval has no previous steps from which delayed scaling could take its scales; use "
           "fp8_scaling: current");
  }
}

void check_fp8_accumulation(const RunSpec& run) {
  if (run.fp8_accumulation == Fp8Accumulation::full) return;
  const std::string asked = "fp8_accumulation: " + std::string(enum_name(run.fp8_accumulation));
  if (run.precision != Precision::fp8) {
    reject("/fp8_accumulation", asked + " is for sums of 8-bit products, found precision: " +
                                    std::string(enum_name(run.precision)) + "; use fp8_accumulation: full");
  }
  if (run.device == Device::cpu) {
    reject("/fp8_accumulation", asked +
                                    " leaves sums in a GPU's tensor cores, but found device: cpu, which adds in f32; "
                                    "use fp8_accumulation: full");
  }
}

// Checks the rounding of weights, activations and logits.
void check_rounding(const RunSpec& run) {
  const bool bf16 = computes_in_bf16(run.precision);
  const std::string precision(enum_name(run.precision));
  if (run.rounding != Rounding::nearest && !bf16) {
    reject("/rounding", "rounding: " + std::string(enum_name(run.rounding)) +
                            " is for rounding weights to bf16, found precision: " + precision +
                            "; use precision: bf16 or rounding: nearest");
  }
  if (run.bf16_weights == Bf16Weights::kept && (!bf16 || run.rounding != Rounding::nearest)) {
    reject("/bf16_weights", "bf16_weights: kept is for precision: bf16 or fp8 with rounding: nearest, found " +
                                precision + " with " + std::string(enum_name(run.rounding)) +
                                "; use bf16_weights: cast");
  }
  if (run.logits == LogitsType::fp32 && !bf16) {
    reject("/logits", "logits: fp32 keeps what precision: bf16 would round, found precision: " + precision +
                          "; use logits: compute");
  }
  check_fp8_scaling(run);
  check_fp8_accumulation(run);
}

// Refuses updates that need a value known only at the end of a step, or other ranks' parts of the gradient.
void check_update_in_backward(const RunSpec& run) {
  if (!run.optimizer.in_backward) return;
  const auto refuse = [](const std::string& found, const std::string& instead) {
    reject("/optimizer/in_backward", "in_backward updates weights before the step's last gradient is known, found " +
                                         found + "; use " + instead + " or in_backward: false");
  };
  if (run.optimizer.clip_norm != 0) refuse("a clip_norm, which needs all gradients", "clip_norm: 0");
  if (run.grad_accum != 1) refuse(number(run.grad_accum) + " microbatches", "grad_accum: 1");
  if (run.mesh.devices() != run.mesh.fsdp()) refuse("a mesh with other axes than fsdp", "fsdp alone");
}

}  // namespace

void validate(const ModelSpec& model) {
  if (model.n_heads % model.n_kv_heads != 0) {
    reject("/n_kv_heads", "n_heads " + number(model.n_heads) + " is not a multiple of n_kv_heads " +
                              number(model.n_kv_heads) +
                              ": every key/value head serves the same number of query heads");
  }
  if (model.position.kind == PositionKind::rope && model.head_dim % 2 != 0) {
    reject("/head_dim", "head_dim " + number(model.head_dim) + " is odd; rotary positions rotate pairs");
  }
  if (model.qk_norm != QkNorm::none && model.norm != NormKind::rmsnorm) {
    reject("/qk_norm",
           "qk_norm: " + std::string(enum_name(model.qk_norm)) +
               " is an rmsnorm like the other norms of the model; found norm: " + std::string(enum_name(model.norm)));
  }
  const auto& position = model.position;
  if (position.rope_scaling == RopeScaling::llama3 && position.rope_high_freq_factor <= position.rope_low_freq_factor) {
    reject("/position/rope_high_freq_factor", "must be above rope_low_freq_factor");
  }
  check_experts(model.moe);
  if (approximate_parameters(model) > kMostParameters) {
    reject("", "a model of more than 10^15 parameters, beyond what can be counted exactly");
  }
}

void validate(const MeshSpec& mesh) {
  double devices = 1;  // in floating point: the product of ten axes may pass 2^63
  auto multiply = [&devices](const Field&, const auto& axis) { devices *= static_cast<double>(axis); };
  MeshAxes::fields(mesh.ici, multiply);
  MeshAxes::fields(mesh.dcn, multiply);
  if (devices > kMostDevices) {
    reject("", "the axes multiply to more than " + number(kMostDevices) + " devices; make one of them smaller");
  }
}

void validate(const RunSpec& run) {
  try {
    validate(run.model);
  } catch (const SpecError& e) {
    throw SpecError("/model" + e.pointer(), e.what());
  }
  try {
    validate(run.mesh);
  } catch (const SpecError& e) {
    throw SpecError("/mesh" + e.pointer(), e.what());
  }
  if (run.model.position.kind == PositionKind::learned && run.seq_len > run.model.max_seq_len) {
    reject("/seq_len", "seq_len " + number(run.seq_len) + " is above the model's max_seq_len " +
                           number(run.model.max_seq_len) + ", the rows of its learned position table");
  }
  const auto shards = run.mesh.data_shards();
  if (run.global_batch % shards != 0) {
    reject("/global_batch", "global_batch " + number(run.global_batch) + " does not divide over " + number(shards) +
                                " data shards (dp x fsdp x ep)");
  }
  if (run.sequences_per_rank() % run.grad_accum != 0) {
    reject("/grad_accum", number(run.sequences_per_rank()) + " sequences per rank do not divide into " +
                              number(run.grad_accum) + " microbatches");
  }
  check_tensor_parallel(run);
  check_expert_parallel(run);
  check_pipeline(run);
  check_data(run);
  check_evaluation(run);
  check_lora(run);
  check_profile(run);
  check_checkpoint(run);
  check_dropout(run);
  check_attention_kernel(run);
  check_rounding(run);
  check_update_in_backward(run);
  if (!run.remat_custom.empty() && run.remat != kCustomRemat) {
    reject("/remat_custom", "places per name need remat: custom, found remat: " + run.remat);
  }
  check_countable(run);
  check_walkable(run);
  resolve_remat(run);  // throws for an unknown policy or name
}

namespace {

// Rows of 8-bit operands need a multiple of 16 elements (cuBLAS documentation, cublasLtMatmul, "the following
// constraints apply to FP8"); the product for the weights' gradient has rows of tokens.
std::optional<std::string> odd_product_of_8_bits(const RunSpec& run) {
  const auto& model = run.model;
  const std::int64_t ranks = run.mesh.tp();
  struct Extent {
    const char* name;
    std::int64_t elements;
  };
  const std::array<Extent, 5> extents{
      {{"a microbatch of a rank has tokens:", run.microbatch() * run.seq_len},
       {"d_model is", model.d_model},
       {"the query heads of a rank have elements:", model.n_heads / ranks * model.head_dim},
       {"the key heads of a rank have elements:", std::max<std::int64_t>(model.n_kv_heads / ranks, 1) * model.head_dim},
       {"d_ff of a rank is", model.d_ff / ranks}}};
  for (const auto& [name, elements] : extents) {
    if (elements % 16 == 0) continue;
    return "precision: fp8 on a GPU multiplies only rows of multiples of 16 elements, but " + std::string(name) + " " +
           number(elements) + "; use precision: bf16";
  }
  if (model.d_ff % ranks != 0) {
    return "precision: fp8 on a GPU multiplies only equal parts of d_ff, but " + number(model.d_ff) +
           " does not divide over tp " + number(ranks) + "; use precision: bf16";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unsupported(const RunSpec& run) {
  if (!run.model.needs.empty()) {
    std::string blocks;
    for (const auto block : run.model.needs) blocks += (blocks.empty() ? "" : ", ") + std::string(enum_name(block));
    return run.model.name + " needs " + blocks + ", which this engine does not have";
  }
  if (run.precision == Precision::fp8 && run.device == Device::cuda) {
    if (const auto reason = odd_product_of_8_bits(run)) return reason;
  }
  if (run.precision == Precision::tf32 && run.device == Device::cpu) return "tf32 is a GPU precision; use fp32 on cpu";
  if (run.attention_kernel == AttentionChoice::cudnn) {
    if (!computes_in_bf16(run.precision)) {
      return "cuDNN computes attention only in bf16, but attention_kernel: cudnn is given with precision: " +
             std::string(enum_name(run.precision));
    }
    if (run.model.position.kind == PositionKind::t5_relative_bias) {
      return "attention_kernel: cudnn: this engine's plan for cuDNN has no relative bias, which " + run.model.name +
             " has";
    }
  }
  return std::nullopt;
}

}  // namespace perfbench::spec
