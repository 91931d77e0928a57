#include "harness/matrix/reference_names.h"

#include <algorithm>
#include <array>

namespace perfbench::harness {
namespace {

constexpr std::string_view kOverlap = "collectives run beside the computation if fsdp_prefetch is 1";
constexpr std::string_view kNoXla = "this engine does not use XLA";
constexpr std::string_view kBuckets = "shards of weights and gradients are sent by layer, whatever their size";
constexpr std::string_view kNoProbabilities =
    "flash attention never stores the probabilities to which it would apply dropout; dropout lists the supported "
    "places";
constexpr std::string_view kOneRate =
    "one rate for many places, including the probabilities of attention, which flash attention never stores; the "
    "supported places are dropout.input, dropout.layer_input and dropout.residual";
constexpr std::string_view kMeshShape = ", whose axes are dp, fsdp and tp";
constexpr std::string_view kOfAStep = ": of a whole step, which has grad_accum microbatches";
constexpr std::string_view kInsideANode =
    ": the product of its axes is the number of devices of a node, such as fsdp: 8";
constexpr std::string_view kAcrossNodes = ": the product of its axes is the number of nodes, such as dcn_dp: 2";
constexpr std::string_view kNoContextAxis = "no axis of the mesh divides a sequence";
constexpr std::string_view kEveryStep = "every step is recorded";
constexpr std::string_view kNotCompiled = "nothing is compiled at run time; device_graphs replays recorded steps";
constexpr std::string_view kNoFp16 = "fp16 is not supported; precision: bf16 needs no scaling of the loss";

// Sources: MaxText configs/base.yml; paxml contrib/gpu/scripts_gpu; torchprime configs; axlearn; XLA's debug options;
// seqax configs; transformers' TrainingArguments and model configurations; Megatron-LM megatron/training/arguments.py;
// torchtitan job_config.py; DeepSpeed's JSON configuration; nanoGPT train.py; the options of torchrun and accelerate.
// The first entry that matches counts.
constexpr std::array kNames{
    ReferenceName{"per_device_batch_size", "MaxText", "batch_per_device", ""},
    ReferenceName{"max_target_length", "MaxText", "seq_len", ""},
    ReferenceName{"model_name", "MaxText", "model", ""},
    ReferenceName{"scan_layers", "MaxText", "scan", ""},
    ReferenceName{"remat_policy", "MaxText", "remat", ", with its values"},
    ReferenceName{"use_iota_embed", "MaxText", "embedding", ", one_hot for true"},
    ReferenceName{"logits_dot_in_fp32", "MaxText", "logits",
                  ": fp32 keeps the sums of bf16 operands; f32 operands are not supported"},
    ReferenceName{"cast_logits_to_fp32", "MaxText", "",
                  "softmax and loss always use f32; logits: fp32 does not round their input"},
    ReferenceName{
        "dropout_rate", "MaxText", "",
        "it drops columns of whole sequences, also in hidden layers; dropout draws for each element independently"},
    ReferenceName{"enable_dropout", "MaxText", "dropout", ", without it for False"},
    ReferenceName{"dataset_type", "MaxText", "data.kind", ""},
    ReferenceName{"dataset_path", "MaxText", "data.path", ""},
    ReferenceName{"global_batch_size", "Megatron-LM", "global_batch", ""},
    ReferenceName{"block_size", "nanoGPT", "seq_len", ""},
    ReferenceName{"max_steps", "Hugging Face", "steps", ""},
    ReferenceName{"logging_steps", "Hugging Face", "", kEveryStep},
    ReferenceName{"profile_step", "torchprime", "profile.first_step", ""},
    ReferenceName{"profile_duration", "torchprime", "profile.steps", ", in steps and not in milliseconds"},
    ReferenceName{"dataset_config_name", "torchprime", "data.path", ""},
    ReferenceName{"ici_mesh*", "torchprime", "mesh.ici", ": fsdp, and tp for tensor"},
    ReferenceName{"dcn_mesh*", "torchprime", "mesh.dcn", ": dcn_fsdp, and dcn_tp for tensor"},
    ReferenceName{"model.attention_kernel", "torchprime", "attention", ": flash for splash_attention"},
    ReferenceName{"model/remat", "torchprime", "remat",
                  ": llama-scan is full with scan: true, llama-scan-offload is custom"},
    ReferenceName{"LIBTPU_INIT_ARGS", "torchprime", "", "this engine does not support TPUs"},
    ReferenceName{"xla_tpu*", "XLA", "", "this engine does not support TPUs"},
    ReferenceName{"PERCORE_BATCH_SIZE", "Pax", "batch_per_device", ""},
    ReferenceName{"ICI_MESH_SHAPE", "Pax", "mesh.ici", kMeshShape},
    ReferenceName{"DCN_MESH_SHAPE", "Pax", "mesh.dcn", kMeshShape},
    ReferenceName{"NUM_LAYERS", "Pax", "model.layers", ""},
    ReferenceName{"NUM_HEADS", "Pax", "model.n_heads", ""},
    ReferenceName{"MODEL_DIMS", "Pax", "model.d_model", ""},
    ReferenceName{"HIDDEN_DIMS", "Pax", "model.d_ff", ""},
    ReferenceName{"MAX_STEPS", "Pax", "steps", ""},
    ReferenceName{"combine_qkv", "Pax", "fused_qkv", ""},
    ReferenceName{"FPROP_DTYPE", "Pax", "precision", ", bf16 for bfloat16"},
    ReferenceName{"PREC", "Pax", "precision", ", bf16 for bfloat16"},
    ReferenceName{"input_dropout_prob", "Pax", "dropout.layer_input", ", or dropout.input if no layer is repeated"},
    ReferenceName{"residual_dropout_prob", "Pax", "dropout.residual", ""},
    ReferenceName{"atten_dropout_prob", "Pax", "", kNoProbabilities},
    ReferenceName{"relu_dropout_prob", "Pax", "", "there is no dropout between the products of a feed-forward block"},
    ReferenceName{"dropout_prob", "Pax", "", kOneRate},
    ReferenceName{"DROPOUT_PROB", "Pax", "", kOneRate},
    ReferenceName{"embd_pdrop", "Hugging Face", "dropout.input", ""},
    ReferenceName{"resid_pdrop", "Hugging Face", "dropout.residual", ""},
    ReferenceName{"attn_pdrop", "Hugging Face", "", kNoProbabilities},
    ReferenceName{"attention_dropout", "torchprime", "", kNoProbabilities},
    ReferenceName{"ENABLE_FP8", "Pax", "precision", ", fp8 for 1"},
    ReferenceName{"USE_FP8", "Pax", "precision", ", fp8 for True"},
    ReferenceName{
        "ENABLE_TE", "Pax", "",
        "this engine does not use Transformer Engine; attention_kernel: cudnn selects the attention that it uses"},
    ReferenceName{"NVTE_FUSED_ATTN", "Transformer Engine", "attention_kernel",
                  ": cudnn for 1, and for 0 own or attention: dot_product"},
    ReferenceName{"xla_gpu_enable_cudnn_fmha", "XLA", "attention_kernel", ": cudnn for true, own for false"},
    ReferenceName{"set_xla_gpu_enable_cudnn_fmha", "XLA", "attention_kernel", ": cudnn for True, own for False"},
    ReferenceName{"xla_gpu_graph_level", "XLA", "device_graphs", ", false for 0"},
    ReferenceName{"xla_gpu_enable_command_buffer", "XLA", "device_graphs", ", false for none"},
    ReferenceName{"xla_gpu_enable_latency_hiding_scheduler", "XLA", "fsdp_prefetch", ", 1 for true"},
    ReferenceName{"xla_gpu_enable_pipelined*", "XLA", "fsdp_prefetch", ", 1 for true"},
    ReferenceName{"xla_gpu_enable_while_loop_double_buffering", "XLA", "fsdp_prefetch", ", 1 for true"},
    ReferenceName{"xla_gpu_enable_async*", "XLA", "", kOverlap},
    ReferenceName{"xla_gpu_enable_highest_priority_async_stream", "XLA", "", kOverlap},
    ReferenceName{"xla_gpu_all_reduce_combine*", "XLA", "all_reduce_combine_bytes", ", up to a layer's gradients"},
    ReferenceName{"xla_gpu_all_gather_combine*", "XLA", "", kBuckets},
    ReferenceName{"xla_gpu_reduce_scatter_combine*", "XLA", "", kBuckets},
    ReferenceName{"xla_gpu_enable_all_gather_combine*", "XLA", "", kBuckets},
    ReferenceName{"xla_gpu_enable_reduce_scatter_combine*", "XLA", "", kBuckets},
    ReferenceName{"xla_disable_hlo_passes", "XLA", "remat", ": it lists what is recomputed, nothing else"},
    ReferenceName{"xla_*", "XLA", "", kNoXla},
    ReferenceName{"XLA_*", "XLA", "", kNoXla},
    ReferenceName{"BASE_XLA_FLAGS", "Pax", "", kNoXla},
    ReferenceName{"NCCL_*", "NCCL", "", "it is an environment variable, which the engine's processes inherit"},
    ReferenceName{"max_sequence_length", "AXLearn", "seq_len", ""},
    ReferenceName{"mesh.d", "seqax", "mesh.ici.fsdp", ""},
    ReferenceName{"mesh.t", "seqax", "mesh.ici.tp", ""},
    ReferenceName{"batch_size", "nanoGPT", "global_batch", ": of a whole step; batch_per_device is for one device"},
    ReferenceName{"max_iters", "nanoGPT", "steps", ""},
    ReferenceName{"n_layer", "nanoGPT", "model.layers", ""},
    ReferenceName{"n_head", "nanoGPT", "model.n_heads", ""},
    ReferenceName{"n_embd", "nanoGPT", "model.d_model", ""},
    ReferenceName{"warmup_iters", "nanoGPT", "optimizer.warmup_steps", ""},
    ReferenceName{"lr_decay_iters", "nanoGPT", "optimizer.decay_steps", ""},
    ReferenceName{"min_lr", "nanoGPT", "optimizer.min_lr_ratio", ", over the peak learning rate"},
    ReferenceName{"grad_clip", "nanoGPT", "optimizer.clip_norm", ""},
    ReferenceName{"log_interval", "nanoGPT", "", kEveryStep},
    ReferenceName{"compile", "nanoGPT", "", kNotCompiled},
    ReferenceName{"model_name_or_path", "Hugging Face", "model", ""},
    ReferenceName{"model_type", "Hugging Face", "model", ""},
    ReferenceName{"hidden_size", "Hugging Face", "model.d_model", ""},
    ReferenceName{"num_hidden_layers", "Hugging Face", "model.layers", ""},
    ReferenceName{"num_attention_heads", "Hugging Face", "model.n_heads", ""},
    ReferenceName{"num_key_value_heads", "Hugging Face", "model.n_kv_heads", ""},
    ReferenceName{"intermediate_size", "Hugging Face", "model.d_ff", ""},
    ReferenceName{"n_inner", "Hugging Face", "model.d_ff", ""},
    ReferenceName{"max_position_embeddings", "Hugging Face", "model.max_seq_len", ""},
    ReferenceName{"n_positions", "Hugging Face", "model.max_seq_len", ""},
    ReferenceName{"n_ctx", "Hugging Face", "model.max_seq_len", ""},
    ReferenceName{"rms_norm_eps", "Hugging Face", "model.norm_eps", ""},
    ReferenceName{"layer_norm_eps", "Hugging Face", "model.norm_eps", ""},
    ReferenceName{"layer_norm_epsilon", "Hugging Face", "model.norm_eps", ""},
    ReferenceName{"hidden_act", "Hugging Face", "model.activation", ""},
    ReferenceName{"activation_function", "Hugging Face", "model.activation", ""},
    ReferenceName{"tie_word_embeddings", "Hugging Face", "model.tied_embedding", ""},
    ReferenceName{"initializer_range", "Hugging Face", "model.init_std", ""},
    ReferenceName{"num_local_experts", "Hugging Face", "model.moe.n_experts", ""},
    ReferenceName{"num_experts_per_tok", "Hugging Face", "model.moe.top_k", ""},
    ReferenceName{"attn_implementation", "Hugging Face", "attention",
                  ": dot_product for eager, flash for flash_attention_2 and sdpa"},
    ReferenceName{"per_device_train_batch_size", "Hugging Face", "batch_per_device", kOfAStep},
    ReferenceName{"gradient_accumulation_steps", "Hugging Face", "grad_accum", ""},
    ReferenceName{"max_seq_length", "Hugging Face", "seq_len", ""},
    ReferenceName{"max_length", "Hugging Face", "seq_len", ""},
    ReferenceName{"sequence_length", "Hugging Face", "seq_len", ""},
    ReferenceName{"context_length", "Hugging Face", "seq_len", ""},
    ReferenceName{"num_train_epochs", "Hugging Face", "steps", ", in optimizer steps and not in epochs"},
    ReferenceName{"num_steps", "Hugging Face", "steps", ""},
    ReferenceName{"torch_dtype", "Hugging Face", "precision", ", bf16 for bfloat16"},
    ReferenceName{"dtype", "Hugging Face", "precision", ", bf16 for bfloat16, fp32 for float32"},
    ReferenceName{"bf16", "Hugging Face", "precision", ": bf16"},
    ReferenceName{"tf32", "Hugging Face", "precision", ": tf32"},
    ReferenceName{"fp16", "Hugging Face", "", kNoFp16},
    ReferenceName{"gradient_checkpointing", "Hugging Face", "remat", ", full for true"},
    ReferenceName{"warmup_ratio", "Hugging Face", "optimizer.warmup_steps", ", in steps and not as a share of them"},
    ReferenceName{"adam_beta1", "Hugging Face", "optimizer.beta1", ""},
    ReferenceName{"adam_beta2", "Hugging Face", "optimizer.beta2", ""},
    ReferenceName{"adam_epsilon", "Hugging Face", "optimizer.eps", ""},
    ReferenceName{"max_grad_norm", "Hugging Face", "optimizer.clip_norm", ""},
    ReferenceName{"optim", "Hugging Face", "", "the optimizer is AdamW; its fields are optimizer.*"},
    ReferenceName{"torch_compile", "Hugging Face", "", kNotCompiled},
    ReferenceName{"save_steps", "Hugging Face", "checkpoint.every_steps", ""},
    ReferenceName{"save_total_limit", "Hugging Face", "checkpoint.keep", ""},
    ReferenceName{"resume_from_checkpoint", "Hugging Face", "checkpoint.restore", ""},
    ReferenceName{"train_file", "Hugging Face", "data.path", ""},
    ReferenceName{"dataset_name", "Hugging Face", "data.path", ""},
    ReferenceName{"micro_batch_size", "Megatron-LM", "batch_per_shard", kOfAStep},
    ReferenceName{"seq_length", "Megatron-LM", "seq_len", ""},
    ReferenceName{"train_iters", "Megatron-LM", "steps", ""},
    ReferenceName{"num_layers", "Megatron-LM", "model.layers", ""},
    ReferenceName{"ffn_hidden_size", "Megatron-LM", "model.d_ff", ""},
    ReferenceName{"num_query_groups", "Megatron-LM", "model.n_kv_heads", ""},
    ReferenceName{"kv_channels", "Megatron-LM", "model.head_dim", ""},
    ReferenceName{"padded_vocab_size", "Megatron-LM", "model.vocab_size", ""},
    ReferenceName{"norm_epsilon", "Megatron-LM", "model.norm_eps", ""},
    ReferenceName{"normalization", "Megatron-LM", "model.norm", ", rmsnorm for RMSNorm"},
    ReferenceName{"swiglu", "Megatron-LM", "model.activation", ": swiglu"},
    ReferenceName{"rotary_base", "Megatron-LM", "model.position.rope_theta", ""},
    ReferenceName{"init_method_std", "Megatron-LM", "model.init_std", ""},
    ReferenceName{"untie_embeddings_and_output_weights", "Megatron-LM", "model.tied_embedding", ", false for true"},
    ReferenceName{"num_experts", "Megatron-LM", "model.moe.n_experts", ""},
    ReferenceName{"moe_router_topk", "Megatron-LM", "model.moe.top_k", ""},
    ReferenceName{"tensor_model_parallel_size", "Megatron-LM", "mesh.ici.tp", ""},
    ReferenceName{"pipeline_model_parallel_size", "Megatron-LM", "mesh.ici.pp", ""},
    ReferenceName{"expert_model_parallel_size", "Megatron-LM", "mesh.ici.ep", ""},
    ReferenceName{"context_parallel_size", "Megatron-LM", "", kNoContextAxis},
    ReferenceName{"num_layers_per_virtual_pipeline_stage", "Megatron-LM", "pipeline_chunks", ", as chunks of a stage"},
    ReferenceName{"sequence_parallel", "Megatron-LM", "", "with tp above 1 the residual stream is divided by rows"},
    ReferenceName{"use_flash_attn", "Megatron-LM", "attention", ", flash for true"},
    ReferenceName{"recompute_granularity", "Megatron-LM", "remat", ""},
    ReferenceName{"recompute_activations", "Megatron-LM", "remat", ", full for true"},
    ReferenceName{"overlap_grad_reduce", "Megatron-LM", "fsdp_prefetch", ", 1 for true"},
    ReferenceName{"overlap_param_gather", "Megatron-LM", "fsdp_prefetch", ", 1 for true"},
    ReferenceName{"fp8_format", "Megatron-LM", "precision", ": fp8"},
    ReferenceName{"params_dtype", "Megatron-LM", "precision", ", bf16 for bfloat16"},
    ReferenceName{"hidden_dropout", "Megatron-LM", "dropout.residual", ""},
    ReferenceName{"lr", "Megatron-LM", "optimizer.learning_rate", ""},
    ReferenceName{"lr_warmup_iters", "Megatron-LM", "optimizer.warmup_steps", ""},
    ReferenceName{"clip_grad", "Megatron-LM", "optimizer.clip_norm", ""},
    ReferenceName{"adam_eps", "Megatron-LM", "optimizer.eps", ""},
    ReferenceName{"save_interval", "Megatron-LM", "checkpoint.every_steps", ""},
    ReferenceName{"data_path", "Megatron-LM", "data.path", ""},
    ReferenceName{"local_batch_size", "torchtitan", "batch_per_shard", kOfAStep},
    ReferenceName{"data_parallel_replicate_degree", "torchtitan", "mesh.ici.dp", ""},
    ReferenceName{"data_parallel_shard_degree", "torchtitan", "mesh.ici.fsdp", ""},
    ReferenceName{"tensor_parallel_degree", "torchtitan", "mesh.ici.tp", ""},
    ReferenceName{"pipeline_parallel_degree", "torchtitan", "mesh.ici.pp", ""},
    ReferenceName{"expert_parallel_degree", "torchtitan", "mesh.ici.ep", ""},
    ReferenceName{"context_parallel_degree", "torchtitan", "", kNoContextAxis},
    ReferenceName{"mixed_precision_param", "torchtitan", "precision", ", bf16 for bfloat16"},
    ReferenceName{"activation_checkpoint*", "torchtitan", "remat", ""},
    ReferenceName{"max_norm", "torchtitan", "optimizer.clip_norm", ""},
    ReferenceName{"train_batch_size", "DeepSpeed", "global_batch", ""},
    ReferenceName{"train_micro_batch_size_per_gpu", "DeepSpeed", "batch_per_device", kOfAStep},
    ReferenceName{"gradient_clipping", "DeepSpeed", "optimizer.clip_norm", ""},
    ReferenceName{"zero_optimization*", "DeepSpeed", "mesh.ici.fsdp", ": the devices of stage 3; dp has no stages"},
    ReferenceName{"zero_stage", "DeepSpeed", "mesh.ici.fsdp", ": the devices of stage 3; dp has no stages"},
    ReferenceName{"steps_per_print", "DeepSpeed", "", kEveryStep},
    ReferenceName{"base_emb_dim", "MaxText", "model.d_model", ""},
    ReferenceName{"base_num_decoder_layers", "MaxText", "model.layers", ""},
    ReferenceName{"base_num_query_heads", "MaxText", "model.n_heads", ""},
    ReferenceName{"base_num_kv_heads", "MaxText", "model.n_kv_heads", ""},
    ReferenceName{"base_mlp_dim", "MaxText", "model.d_ff", ""},
    ReferenceName{"mlp_activations", "MaxText", "model.activation", ""},
    ReferenceName{"ici_data_parallelism", "MaxText", "mesh.ici.dp", ""},
    ReferenceName{"ici_fsdp_parallelism", "MaxText", "mesh.ici.fsdp", ""},
    ReferenceName{"ici_tensor_parallelism", "MaxText", "mesh.ici.tp", ""},
    ReferenceName{"ici_expert_parallelism", "MaxText", "mesh.ici.ep", ""},
    ReferenceName{"ici_pipeline_parallelism", "MaxText", "mesh.ici.pp", ""},
    ReferenceName{"dcn_data_parallelism", "MaxText", "mesh.dcn.dp", ""},
    ReferenceName{"dcn_fsdp_parallelism", "MaxText", "mesh.dcn.fsdp", ""},
    ReferenceName{"dcn_tensor_parallelism", "MaxText", "mesh.dcn.tp", ""},
    ReferenceName{"dcn_expert_parallelism", "MaxText", "mesh.dcn.ep", ""},
    ReferenceName{"dcn_pipeline_parallelism", "MaxText", "mesh.dcn.pp", ""},
    ReferenceName{"ici_context_parallelism", "MaxText", "", kNoContextAxis},
    ReferenceName{"quantization", "MaxText", "precision", ", fp8 for fp8"},
    ReferenceName{"adam_b1", "MaxText", "optimizer.beta1", ""},
    ReferenceName{"adam_b2", "MaxText", "optimizer.beta2", ""},
    ReferenceName{"gradient_clipping_threshold", "MaxText", "optimizer.clip_norm", ""},
    ReferenceName{"warmup_steps_fraction", "MaxText", "optimizer.warmup_steps",
                  ", in steps and not as a share of them"},
    ReferenceName{"checkpoint_period", "MaxText", "checkpoint.every_steps", ""},
    ReferenceName{"load_parameters_path", "MaxText", "checkpoint.restore", ""},
    ReferenceName{"skip_first_n_steps_for_profiler", "MaxText", "profile.first_step", ""},
    ReferenceName{"profiler_steps", "MaxText", "profile.steps", ""},
    ReferenceName{"nproc*", "torchrun", "mesh.ici", kInsideANode},
    ReferenceName{"nnodes", "torchrun", "mesh.dcn", kAcrossNodes},
    ReferenceName{"nodes", "torchrun", "mesh.dcn", kAcrossNodes},
    ReferenceName{"world_size", "torchrun", "mesh.ici",
                  ": the devices are the product of all axes, inside nodes and across them"},
    ReferenceName{"num_machines", "accelerate", "mesh.dcn", kAcrossNodes},
    ReferenceName{"num_nodes", "accelerate", "mesh.dcn", kAcrossNodes},
    ReferenceName{"num_processes", "accelerate", "mesh.ici",
                  ": the devices are the product of all axes, inside nodes and across them"},
    ReferenceName{"num_gpus", "accelerate", "mesh.ici", kInsideANode},
    ReferenceName{"gpus", "accelerate", "mesh.ici", kInsideANode},
    ReferenceName{"n_gpus", "accelerate", "mesh.ici", kInsideANode},
    ReferenceName{"mixed_precision", "accelerate", "precision", ""},
};

bool means(const ReferenceName& name, std::string_view word) {
  if (name.word.ends_with('*')) return word.starts_with(name.word.substr(0, name.word.size() - 1));
  return word == name.word;
}

// Command-line options have hyphens where configuration files have underscores.
const ReferenceName* find_name(std::string_view word) {
  std::string underscored(word);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const ReferenceName& name) {
    return means(name, word) || means(name, underscored);
  });
  return found == kNames.end() ? nullptr : &*found;
}

}  // namespace

std::span<const ReferenceName> reference_names() {
  return kNames;
}

std::string reference_hint(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);  // the form of their command lines
  if (word.starts_with("fdl.")) word.remove_prefix(4);  // the prefix of Fiddle, with which Pax is configured
  const auto* name = find_name(word);
  // Keys in their files have a section in front: training.local_batch_size.
  if (name == nullptr) name = find_name(word.substr(word.rfind('.') + 1));
  if (name == nullptr) return "";
  const std::string whose = ": " + std::string(name->system) + "'s";
  if (name->key.empty()) return whose + "; " + std::string(name->note);
  return whose + " name for " + std::string(name->key) + std::string(name->note);
}

}  // namespace perfbench::harness
