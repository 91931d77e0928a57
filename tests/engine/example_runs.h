// Small runs of each family for the engine's tests.
#pragma once

#include <vector>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

inline spec::RunSpec gpt_tiny() {
  spec::RunSpec run;
  run.model = {.name = "gpt-tiny",
               .layers = 3,
               .d_model = 32,
               .n_heads = 4,
               .n_kv_heads = 4,
               .head_dim = 8,
               .d_ff = 128,
               .vocab_size = 97,
               .max_seq_len = 24,
               .norm = spec::NormKind::layernorm,
               .activation = spec::Activation::gelu_tanh,
               .bias = spec::BiasKind::all,
               .tied_embedding = true,
               .position = {.kind = spec::PositionKind::learned},
               .init_std = 0.2};
  run.seq_len = 16;
  run.global_batch = 8;
  run.steps = 3;
  run.optimizer.learning_rate = 1e-2;
  return run;
}

inline spec::RunSpec llama_tiny() {
  spec::RunSpec run = gpt_tiny();
  run.model = {.name = "llama-tiny",
               .layers = 3,
               .d_model = 32,
               .n_heads = 4,
               .n_kv_heads = 2,
               .head_dim = 16,
               .d_ff = 80,
               .vocab_size = 101,
               .max_seq_len = 24,
               .norm = spec::NormKind::rmsnorm,
               .activation = spec::Activation::swiglu,
               .bias = spec::BiasKind::none,
               .init_std = 0.2};
  return run;
}

// Several documents in a row (engine/data/synthetic_documents.h).
inline spec::RunSpec packed(spec::RunSpec run) {
  run.model.name = "packed" + run.model.name;
  run.data.packing = spec::Packing::documents;
  return run;
}

// With dropout of the embeddings, of the inputs of layers and of what blocks add.
inline spec::RunSpec dropped(spec::RunSpec run) {
  run.model.name = "dropped" + run.model.name;
  run.dropout = {.input = 0.1, .layer_input = 0.05, .residual = 0.2};
  return run;
}

// With a norm on each query and key head.
inline spec::RunSpec qwen3_tiny() {
  spec::RunSpec run = llama_tiny();
  run.model.name = "qwen3-tiny";
  run.model.qk_norm = spec::QkNorm::head;
  return run;
}

// Experts in every layer, without dropped tokens.
inline spec::RunSpec dropless_tiny() {
  spec::RunSpec run = llama_tiny();
  run.model.name = "dropless-tiny";
  run.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 40, .load_balance_weight = 0.02};
  return run;
}

// Adapters on every linear layer, beside frozen weights.
inline spec::RunSpec lora_tiny() {
  spec::RunSpec run = llama_tiny();
  run.model.name = "lora-tiny";
  run.task = spec::Task::lora;
  run.lora = {.rank = 4, .alpha = 6.0};
  return run;
}

// Adapters only on feed-forward blocks, in a model with biases and a tied embedding.
inline spec::RunSpec lora_mlp_tiny() {
  spec::RunSpec run = gpt_tiny();
  run.model.name = "lora_mlp-tiny";
  run.task = spec::Task::lora;
  run.lora = {.rank = 5, .targets = spec::LoraTargets::mlp};
  return run;
}

// A relative bias with exact buckets, logarithmic ones and one for the rest within 16 tokens, and no 1/sqrt(head_dim).
inline spec::RunSpec t5_tiny() {
  spec::RunSpec run = llama_tiny();
  run.model.name = "t5-tiny";
  run.model.attention_scale = 0.125;
  run.model.position = {.kind = spec::PositionKind::t5_relative_bias, .t5_buckets = 8, .t5_max_distance = 12};
  return run;
}

// The same with experts in every second layer, which drop choices above their capacity.
inline spec::RunSpec glam_tiny() {
  spec::RunSpec run = t5_tiny();
  run.model.name = "glam-tiny";
  run.model.activation = spec::Activation::geglu;
  run.model.tied_embedding = true;
  run.model.moe = {.n_experts = 8,
                   .top_k = 2,
                   .layer_stride = 2,
                   .d_ff = 40,
                   .activation = spec::Activation::relu,
                   .routing = spec::MoeRouting::top2_gshard,
                   .capacity_factor = 2.0,
                   .load_balance_weight = 0.01};
  return run;
}

// Adapters in models of all kinds.
inline std::vector<spec::RunSpec> adapted_runs() {
  auto attention = lora_tiny();
  attention.model.qk_norm = spec::QkNorm::head;
  attention.lora.targets = spec::LoraTargets::attention;
  auto biased = gpt_tiny();
  biased.task = spec::Task::lora;
  biased.lora = {.rank = 3};
  auto relative = t5_tiny();
  relative.task = spec::Task::lora;
  relative.lora = {.rank = 2, .alpha = 1.0};
  auto experts = dropless_tiny();
  experts.task = spec::Task::lora;
  experts.lora = {.rank = 4, .targets = spec::LoraTargets::attention};
  return {lora_tiny(), lora_mlp_tiny(), attention, biased, relative, experts};
}

}  // namespace perfbench::engine
