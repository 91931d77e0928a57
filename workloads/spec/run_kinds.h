// The enumerations of a run (run_spec.h), for code that needs only these.
#pragma once

#include <array>
#include <utility>

#include "workloads/spec/enum_names.h"

namespace perfbench::spec {

enum class Device { cpu, cuda };
template <>
struct EnumNames<Device> {
  static constexpr std::array kNames{std::pair{Device::cpu, "cpu"}, std::pair{Device::cuda, "cuda"}};
};

// bf16: bf16 weights and activations in the products; fp32 master weights, reductions, softmax and loss. fp8: as bf16,
// except that the products of linear layers in blocks read operands rounded to 8 bits (engine/layers/fp8_scales.h).
enum class Precision { fp32, tf32, bf16, fp8 };
template <>
struct EnumNames<Precision> {
  static constexpr std::array kNames{std::pair{Precision::fp32, "fp32"}, std::pair{Precision::tf32, "tf32"},
                                     std::pair{Precision::bf16, "bf16"}, std::pair{Precision::fp8, "fp8"}};
};

// Whether weights and activations are bf16.
constexpr bool computes_in_bf16(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp8;
}

// The factor by which a tensor is multiplied before it is rounded to 8 bits: the format's largest number over the
// tensor's largest magnitude, its amax. delayed: over the largest amax of previous steps, of all ranks that have parts
// of the tensor; 1 in the first step. current: over the amax of the part that a rank has now: ranks of another mesh
// round different parts together. NVIDIA Transformer Engine's recipes (transformer_engine.common.recipe, DelayedScaling
// with amax_compute_algo max, and Float8CurrentScaling, both in their HYBRID format).
enum class Fp8Scaling { delayed, current };
template <>
struct EnumNames<Fp8Scaling> {
  static constexpr std::array kNames{std::pair{Fp8Scaling::delayed, "delayed"},
                                     std::pair{Fp8Scaling::current, "current"}};
};

// How a GPU adds the products of 8-bit operands. Tensor cores of Ada and Hopper keep about 13 bits of a sum, counted
// from its largest number. full: such sums are moved to f32 after every few terms, so that an error does not grow with
// the number of terms. fast: all terms of a result are added in the tensor core (cuBLAS documentation,
// CUBLASLT_MATMUL_DESC_FAST_ACCUM). fast_forward: fast only in the forward pass, whose products have no gradient among
// their operands; NVIDIA Transformer Engine's choice. Later GPUs always add in f32.
enum class Fp8Accumulation { full, fast_forward, fast };
template <>
struct EnumNames<Fp8Accumulation> {
  static constexpr std::array kNames{std::pair{Fp8Accumulation::full, "full"},
                                     std::pair{Fp8Accumulation::fast_forward, "fast_forward"},
                                     std::pair{Fp8Accumulation::fast, "fast"}};
};

// How f32 weights become bf16 ones. stochastic: up or down at random, so that the expected weight is the f32 one; all
// uses of a weight in a step have the same draw.
enum class Rounding { nearest, stochastic };
template <>
struct EnumNames<Rounding> {
  static constexpr std::array kNames{std::pair{Rounding::nearest, "nearest"},
                                     std::pair{Rounding::stochastic, "stochastic"}};
};

// The source of the bf16 weights that products read. cast: made from the f32 ones whenever a layer is gathered. kept:
// every update writes them beside the f32 ones, with the same bits, for 2 more bytes of memory a parameter (over fsdp).
enum class Bf16Weights { cast, kept };
template <>
struct EnumNames<Bf16Weights> {
  static constexpr std::array kNames{std::pair{Bf16Weights::cast, "cast"}, std::pair{Bf16Weights::kept, "kept"}};
};

// How the embedding produces the rows of tokens. lookup: it copies them, and adds gradients to them. one_hot: by
// products with one-hot rows over the vocabulary, in both directions, loss_chunk_tokens rows at once.
enum class EmbeddingKind { lookup, one_hot };
template <>
struct EnumNames<EmbeddingKind> {
  static constexpr std::array kNames{std::pair{EmbeddingKind::lookup, "lookup"},
                                     std::pair{EmbeddingKind::one_hot, "one_hot"}};
};

// dot_product materialises the scores; flash works in tiles and never holds a seq_len x seq_len buffer.
enum class AttentionKind { dot_product, flash };
template <>
struct EnumNames<AttentionKind> {
  static constexpr std::array kNames{std::pair{AttentionKind::dot_product, "dot_product"},
                                     std::pair{AttentionKind::flash, "flash"}};
};

// The kernels that compute flash attention on a GPU. automatic: cuDNN's if they are built in and support the problem,
// else the engine's own. cudnn: an unsupported problem ends the run with the reason.
enum class AttentionChoice { automatic, cudnn, own };
template <>
struct EnumNames<AttentionChoice> {
  static constexpr std::array kNames{std::pair{AttentionChoice::automatic, "auto"},
                                     std::pair{AttentionChoice::cudnn, "cudnn"},
                                     std::pair{AttentionChoice::own, "own"}};
};

// The type in which the head keeps the products that are logits. compute: their own type, rounded to bf16 if that is
// bf16. fp32: the f32 sums themselves; only their gradient is rounded, for the products of the backward pass.
enum class LogitsType { compute, fp32 };
template <>
struct EnumNames<LogitsType> {
  static constexpr std::array kNames{std::pair{LogitsType::compute, "compute"}, std::pair{LogitsType::fp32, "fp32"}};
};

// Where a named intermediate of the forward pass is kept until the backward pass.
enum class SavePlace { device, remat, offload };
template <>
struct EnumNames<SavePlace> {
  static constexpr std::array kNames{std::pair{SavePlace::device, "device"}, std::pair{SavePlace::remat, "remat"},
                                     std::pair{SavePlace::offload, "offload"}};
};

// pretrain: every position has a loss. sft (supervised fine-tuning): only positions that complete a prompt have one,
// and a step's loss is the mean over them. lora: adapters beside the model's weights are trained, on data of either
// kind. eval: no training; the run measures how likely the completions are.
enum class Task { pretrain, sft, lora, eval };
template <>
struct EnumNames<Task> {
  static constexpr std::array kNames{std::pair{Task::pretrain, "pretrain"}, std::pair{Task::sft, "sft"},
                                     std::pair{Task::lora, "lora"}, std::pair{Task::eval, "eval"}};
};

// instruction: prompts and their completions, one document a sequence.
enum class DataKind { synthetic, flat_tokens, instruction };
template <>
struct EnumNames<DataKind> {
  static constexpr std::array kNames{std::pair{DataKind::synthetic, "synthetic"},
                                     std::pair{DataKind::flat_tokens, "flat_tokens"},
                                     std::pair{DataKind::instruction, "instruction"}};
};

// documents: a row holds several whole documents one behind the other, which do not see each other, and padding behind.
enum class Packing { none, documents };
template <>
struct EnumNames<Packing> {
  static constexpr std::array kNames{std::pair{Packing::none, "none"}, std::pair{Packing::documents, "documents"}};
};

// The type in which a run keeps values of an update.
enum class StateType { fp32, bf16 };
template <>
struct EnumNames<StateType> {
  static constexpr std::array kNames{std::pair{StateType::fp32, "fp32"}, std::pair{StateType::bf16, "bf16"}};
};

}  // namespace perfbench::spec
