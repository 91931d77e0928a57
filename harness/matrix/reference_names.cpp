#include "harness/matrix/reference_names.h"

#include <array>

namespace perfbench::harness {
namespace {

constexpr std::string_view kOverlap = "collectives run beside the computation where fsdp_prefetch is 1";
constexpr std::string_view kNoXla = "this engine has no XLA";
constexpr std::string_view kBuckets = "shards of weights and gradients are sent by layer, whatever their size";
constexpr std::string_view kNoProbabilities =
    "flash attention never holds the probabilities that it would drop; dropout has the places that there are";
constexpr std::string_view kOneRate =
    "one rate for many places, the probabilities of attention among them, which flash attention never holds; "
    "dropout.input, dropout.layer_input and dropout.residual are those that there are";
constexpr std::string_view kMeshShape = ", whose axes are dp, fsdp and tp";

// MaxText configs/base.yml; paxml contrib/gpu/scripts_gpu; torchprime configs; axlearn; XLA's debug options; seqax
// configs. The first that fits counts.
constexpr std::array kNames{
    ReferenceName{"per_device_batch_size", "MaxText", "batch_per_device", ""},
    ReferenceName{"max_target_length", "MaxText", "seq_len", ""},
    ReferenceName{"model_name", "MaxText", "model", ""},
    ReferenceName{"scan_layers", "MaxText", "scan", ""},
    ReferenceName{"remat_policy", "MaxText", "remat", ", with its values"},
    ReferenceName{"use_iota_embed", "MaxText", "embedding", ", one_hot for true"},
    ReferenceName{"logits_dot_in_fp32", "MaxText", "logits",
                  ": fp32 keeps the sums of bf16 operands; operands in f32 there are none"},
    ReferenceName{"cast_logits_to_fp32", "MaxText", "",
                  "softmax and loss are in f32 always; logits: fp32 does not round what they read"},
    ReferenceName{
        "dropout_rate", "MaxText", "",
        "it drops columns of whole sequences, and in hidden layers; dropout draws for each element by itself"},
    ReferenceName{"enable_dropout", "MaxText", "dropout", ", without it for False"},
    ReferenceName{"dataset_type", "MaxText", "data.kind", ""},
    ReferenceName{"dataset_path", "MaxText", "data.path", ""},
    ReferenceName{"global_batch_size", "torchprime", "global_batch", ""},
    ReferenceName{"block_size", "torchprime", "seq_len", ""},
    ReferenceName{"max_steps", "torchprime", "steps", ""},
    ReferenceName{"logging_steps", "torchprime", "", "every step is recorded"},
    ReferenceName{"profile_step", "torchprime", "profile.first_step", ""},
    ReferenceName{"profile_duration", "torchprime", "profile.steps", ", in steps and not in milliseconds"},
    ReferenceName{"dataset_config_name", "torchprime", "data.path", ""},
    ReferenceName{"ici_mesh*", "torchprime", "mesh.ici", ": fsdp, and tp for tensor"},
    ReferenceName{"dcn_mesh*", "torchprime", "mesh.dcn", ": dcn_fsdp, and dcn_tp for tensor"},
    ReferenceName{"model.attention_kernel", "torchprime", "attention", ": flash for splash_attention"},
    ReferenceName{"model/remat", "torchprime", "remat",
                  ": llama-scan is full with scan: true, llama-scan-offload is custom"},
    ReferenceName{"LIBTPU_INIT_ARGS", "torchprime", "", "this engine has no TPU"},
    ReferenceName{"xla_tpu*", "XLA", "", "this engine has no TPU"},
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
    ReferenceName{"input_dropout_prob", "Pax", "dropout.layer_input", ", or dropout.input where no layer is repeated"},
    ReferenceName{"residual_dropout_prob", "Pax", "dropout.residual", ""},
    ReferenceName{"atten_dropout_prob", "Pax", "", kNoProbabilities},
    ReferenceName{"relu_dropout_prob", "Pax", "", "nothing is dropped between the products of a feed-forward block"},
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
        "Transformer Engine is not in this engine; attention_kernel: cudnn asks for the attention that it uses"},
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
    ReferenceName{"xla_disable_hlo_passes", "XLA", "remat", ": what is computed again is what it says, nothing else"},
    ReferenceName{"xla_*", "XLA", "", kNoXla},
    ReferenceName{"XLA_*", "XLA", "", kNoXla},
    ReferenceName{"BASE_XLA_FLAGS", "Pax", "", kNoXla},
    ReferenceName{"NCCL_*", "NCCL", "", "it is a variable of the environment, which the engine's processes inherit"},
    ReferenceName{"max_sequence_length", "AXLearn", "seq_len", ""},
    ReferenceName{"mesh.d", "seqax", "mesh.ici.fsdp", ""},
    ReferenceName{"mesh.t", "seqax", "mesh.ici.tp", ""},
};

bool means(const ReferenceName& name, std::string_view word) {
  if (name.word.ends_with('*')) return word.starts_with(name.word.substr(0, name.word.size() - 1));
  return word == name.word;
}

}  // namespace

std::span<const ReferenceName> reference_names() {
  return kNames;
}

std::string reference_hint(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);  // as on their command lines
  if (word.starts_with("fdl.")) word.remove_prefix(4);  // Fiddle's, by which Pax's are set
  for (const auto& name : kNames) {
    if (!means(name, word)) continue;
    const std::string whose = ": " + std::string(name.system) + "'s";
    if (name.key.empty()) return whose + "; " + std::string(name.note);
    return whose + " name for " + std::string(name.key) + std::string(name.note);
  }
  return "";
}

}  // namespace perfbench::harness
