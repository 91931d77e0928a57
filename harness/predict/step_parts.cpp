#include "harness/predict/step_parts.h"

#include <algorithm>
#include <cmath>

#include "harness/predict/device_costs.h"
#include "harness/predict/numbers.h"

namespace perfbench::predict {
namespace {

using spec::Recomputation;
using spec::ShardingKind;

constexpr double kBytes = 2;          // of a value in bf16
constexpr double kLayerKernels = 90;  // about 30 forward and 60 backward
constexpr double kFp8CastShare = 0.25;
constexpr double kAdapterShare = 0.012;  // of parameters that LoRA trains
constexpr double kDefaultDevicesPerNode = 8;

// Sizes of one layer on one device.
struct LayerSizes {
  double tokens = 0;    // of a microbatch
  double width = 0;     // d
  double qkv = 0;       // (h + 2k) * e
  double heads = 0;     // h * e
  double kv_heads = 0;  // k * e
  double ffn = 0;       // f
  double up = 0;        // f, or 2f if gated
  double tp = 1;
  double parameters = 0;            // of a layer, all tensor-parallel ranks
  double embedding_parameters = 0;  // both embeddings
};

LayerSizes sizes_of(const TrainingSetup& setup) {
  const auto& m = setup.model;
  const bool gated = spec::is_gated(m.activation);
  LayerSizes out;
  out.tokens = std::max(1.0, std::nearbyint(setup.microbatch * real(setup.seq_len) / real(setup.cp)));
  out.width = real(m.d_model);
  out.heads = real(m.n_heads * m.head_dim);
  out.kv_heads = real(m.n_kv_heads * m.head_dim);
  out.qkv = out.heads + 2 * out.kv_heads;
  out.ffn = real(m.d_ff);
  out.up = (gated ? 2 : 1) * out.ffn;
  out.tp = real(setup.tp);
  out.parameters = out.width * out.qkv + out.heads * out.width + (gated ? 3 : 2) * out.width * out.ffn;
  out.embedding_parameters = real(m.vocab_size) * out.width * (m.tied_embedding ? 1 : 2);
  return out;
}

struct LayerProducts {
  double qkv = 0;
  double out = 0;
  double up = 0;
  double down = 0;
  double sum() const { return qkv + out + up + down; }
};

// Seconds of the products of a layer with its weights, forward and backward.
struct ProductTimes {
  LayerProducts forward;
  double backward_s = 0;
};

ProductTimes product_times(const TrainingSetup& setup, const LayerSizes& n) {
  const auto& device = *setup.device;
  const auto type = setup.fp8 ? FactorType::fp8 : FactorType::bf16;
  const auto share = [&n](double value) { return std::floor(value / n.tp); };
  ProductTimes out;
  const auto add = [&](double columns, double inner) {
    out.backward_s += product_seconds(device, {n.tokens, inner, columns}, type);
    if (!setup.lora) out.backward_s += product_seconds(device, {inner, columns, n.tokens}, type);
    return product_seconds(device, {n.tokens, columns, inner}, type);
  };
  out.forward.qkv = add(share(n.qkv), n.width);
  out.forward.out = add(n.width, share(n.heads));
  out.forward.up = add(share(n.up), n.width);
  out.forward.down = add(n.width, share(n.ffn));
  return out;
}

struct AttentionTimes {
  double forward_s = 0;
  double backward_s = 0;
  double recompute_s = 0;  // of scores, softmax and their product
};

// Two products and passes over the scores. Their rates ramp with the inner dimension, which is the head size or s.
AttentionTimes materialised_times(const TrainingSetup& setup, const MaterialisedAttention& kind) {
  const auto& device = *setup.device;
  const double s = real(setup.seq_len);
  const double e = real(setup.model.head_dim);
  const double scores = setup.microbatch * real(setup.model.n_heads) / real(setup.tp) * s * s;
  const double rate = device.hardware.peak_flops_per_s.bf16 * device.architecture.sustained_fraction;
  const double ramp_k = device.architecture.ramp_k;
  const double score_product = 2 * scores * e / (rate * e / (e + ramp_k));
  const double value_product = 2 * scores * e / (rate * s / (s + 2 * ramp_k));
  const double bandwidth = device.stream_bytes_per_s();
  return {.forward_s = score_product + value_product + scores * kind.forward_bytes / bandwidth,
          .backward_s =
              (score_product + value_product) * (1 + kind.backward_slowdown) + scores * kind.backward_bytes / bandwidth,
          .recompute_s = score_product + scores * kind.recompute_bytes / bandwidth};
}

AttentionTimes attention_times(const TrainingSetup& setup, const LayerSizes& n) {
  const auto& device = *setup.device;
  const auto materialised = device.materialised.find(setup.attention_kernel);
  if (materialised != device.materialised.end()) return materialised_times(setup, materialised->second);
  const auto& kernel = device.architecture.attention.at(setup.attention_kernel);
  const auto rates = attention_rates(device, kernel, setup.model.head_dim, setup.seq_len);
  constexpr double kBackwardWork = 2.5;  // five products instead of two
  const double s = real(setup.seq_len);
  const double causal_flops = 2 * setup.microbatch * n.heads / n.tp * s * s / real(setup.cp);
  const double io_s = kBytes * n.tokens * (2 * n.heads + 2 * n.kv_heads) / n.tp / device.small_kernel_bytes_per_s();
  AttentionTimes out;
  out.forward_s = std::max(causal_flops / rates.forward_flops_per_s, io_s);
  out.backward_s = kBackwardWork * std::max(causal_flops / rates.backward_flops_per_s, io_s);
  out.recompute_s = out.forward_s;
  return out;
}

double memory_seconds(const TrainingSetup& setup, const LayerSizes& n, const MovedElements& moved) {
  const double sequence_share = setup.sequence_parallel ? n.tp : 1;
  const bool rotary = setup.model.position.kind == spec::PositionKind::rope;
  const double rotated = rotary ? 2 * (n.heads + n.kv_heads) / n.tp : 0;
  const double elements = moved.width * n.width / sequence_share + moved.ffn * n.ffn / n.tp + rotated;
  return kBytes * n.tokens * elements * (setup.fp8 ? 1 + kFp8CastShare : 1) / setup.device->small_kernel_bytes_per_s();
}

// Values that a scanned loop stacks: each is written and read twice.
double stacked_values_s(const TrainingSetup& setup, const LayerSizes& n) {
  if (!setup.scan) return 0;
  double kept = n.width;
  if (setup.recompute == Recomputation::dots) kept = n.qkv + 2 * n.width + n.heads + n.up;
  if (setup.recompute == Recomputation::keep_projections) kept = n.qkv + n.width + 2 * n.ffn;
  constexpr double kPasses = 4;
  return kPasses * kBytes * n.tokens * kept / n.tp / setup.device->small_kernel_bytes_per_s();
}

PassParts recomputed(const TrainingSetup& setup, const LayerProducts& products, const AttentionTimes& attention,
                     double memory_s) {
  const double block = products.sum() - (setup.recomputes_last_product ? 0 : products.down);
  const auto part_of_block = [&](double part) -> PassParts {
    return {part * block, part * attention.forward_s, part * memory_s};
  };
  switch (setup.recompute) {
    case Recomputation::none:
      return {};
    case Recomputation::full:
      return part_of_block(1);
    case Recomputation::dots:
    case Recomputation::keep_projections:
      return {0, attention.forward_s, memory_s};
    case Recomputation::minimal_flash: {
      constexpr double kRecomputedShare = 0.8;
      return {0, 0, kRecomputedShare * memory_s};
    }
    case Recomputation::core_attention:
      return {0, attention.recompute_s, 0};
    case Recomputation::every_second_product: {  // key, out and half of up
      const auto kv = real(setup.model.n_kv_heads);
      const double key = products.qkv * kv / (real(setup.model.n_heads) + 2 * kv);
      return {products.out + 0.5 * products.up + key, 0, memory_s};
    }
    case Recomputation::every_second_layer:
      return part_of_block(0.5);
    case Recomputation::some_layers:
      return part_of_block(0.4);
    case Recomputation::feed_forward:
      return {products.up, 0, 0.5 * memory_s};
  }
  return {};
}

double devices_per_node(const TrainingSetup& setup) {
  const auto usual = setup.device->hardware.devices_per_node;
  return usual > 0 ? real(usual) : kDefaultDevicesPerNode;
}

// The number of ranks in one node, of a group of data-parallel ranks.
std::int64_t ranks_in_node(const TrainingSetup& setup, std::int64_t ranks) {
  const auto in_node = static_cast<std::int64_t>(devices_per_node(setup)) / setup.tp;
  return std::max<std::int64_t>(1, std::min(in_node, ranks));
}

double collective(const TrainingSetup& setup, CollectiveKind kind, double bytes, std::int64_t ranks,
                  std::int64_t in_node, bool between_slices = false) {
  return collective_seconds(*setup.device, {.kind = kind,
                                            .bytes = bytes,
                                            .ranks = ranks,
                                            .ranks_in_node = in_node,
                                            .node_network_bytes_per_s = setup.node_network_bytes_per_s,
                                            .between_slices = between_slices});
}

// FSDP: each layer is gathered and its gradients are scattered. Hybrid sharding also sums shards over replicas.
void add_sharded_weights(const TrainingSetup& setup, const LayerSizes& n, StepParts& out) {
  const auto shards = setup.shards();
  if (shards <= 1) return;
  using enum CollectiveKind;
  const auto in_node = ranks_in_node(setup, shards);
  const double layer = n.parameters / n.tp;
  const double embeddings = n.embedding_parameters / n.tp;
  const double trainable = setup.lora ? kAdapterShare : 1;
  constexpr double kFrozenCopies = 0.5;
  out.backward.memory_s +=
      setup.stack->copy_bytes * layer / setup.device->small_kernel_bytes_per_s() * (setup.lora ? kFrozenCopies : 1);
  out.forward_gather_s = collective(setup, all_gather, kBytes * layer, shards, in_node);
  if (setup.sharding == ShardingKind::full_shard) out.backward_gather_s = out.forward_gather_s;
  if (!setup.lora) {
    out.gradient_scatter_s = collective(setup, reduce_scatter, setup.gradient_bytes * layer, shards, in_node);
  }
  out.embedding_collectives_s =
      collective(setup, all_gather, kBytes * embeddings, shards, in_node) +
      collective(setup, reduce_scatter, setup.gradient_bytes * embeddings, shards, in_node) * trainable;
  if (setup.replicas > 1) {
    const double shard = setup.gradient_bytes * layer / real(shards);
    out.gradient_scatter_s += collective(setup, all_reduce, shard, setup.replicas, 1, true) * trainable;
  }
}

// Data parallelism with whole weights: gradients are reduced once a step. ZeRO-1 scatters them and gathers weights.
void add_whole_weights(const TrainingSetup& setup, double parameters, StepParts& out) {
  using enum CollectiveKind;
  const auto ranks = setup.data_parallel();
  const auto in_node = ranks_in_node(setup, ranks);
  const double gradients = setup.gradient_bytes * parameters;
  if (setup.sharding == ShardingKind::ddp) {
    out.gradient_reduction_s = collective(setup, all_reduce, gradients, ranks, in_node);
  } else {
    out.gradient_reduction_s = collective(setup, reduce_scatter, gradients, ranks, in_node);
    out.weight_gather_s = collective(setup, all_gather, kBytes * parameters, ranks, in_node);
  }
}

double optimizer_bytes(const TrainingSetup& setup, double parameters) {
  constexpr double kCastBytes = 6;  // an f32 weight is read, a bf16 one written
  const double trainable = setup.lora ? kAdapterShare : 1;
  const double share = setup.shards_weights()                  ? real(setup.shards())
                       : setup.sharding == ShardingKind::zero1 ? real(setup.data_parallel())
                                                               : 1;
  const double casts = setup.shards_weights() ? 0 : kCastBytes * parameters;
  return setup.stack->optimizer_bytes * parameters / share * trainable + casts;
}

void add_head(const TrainingSetup& setup, const LayerSizes& n, StepParts& out) {
  const auto& device = *setup.device;
  const double vocab = std::floor(real(setup.model.vocab_size) / n.tp);
  const auto backward = setup.stack->head_tf32 ? FactorType::tf32 : FactorType::bf16;
  out.head_matmul_s = product_seconds(device, {n.tokens, vocab, n.width}) +
                      product_seconds(device, {n.tokens, n.width, vocab}, backward) +
                      product_seconds(device, {n.width, vocab, n.tokens}, backward);
  out.head_memory_s =
      n.tokens * real(setup.model.vocab_size) / n.tp * setup.stack->head_bytes / device.stream_bytes_per_s();
}

}  // namespace

StepParts step_parts(const TrainingSetup& setup) {
  const auto& device = *setup.device;
  const auto& stack = *setup.stack;
  const auto& shared = device.shared;
  const auto n = sizes_of(setup);
  const auto products = product_times(setup, n);
  const auto attention = attention_times(setup, n);
  const double forward_memory_s = memory_seconds(setup, n, stack.forward_elements);

  StepParts out;
  out.layers = real(setup.model.layers) / real(setup.pp);
  out.microbatches = real(setup.microbatches);
  out.stages = real(setup.pp);
  out.interleaving = real(setup.interleaving);
  out.devices = real(setup.devices);
  out.forward = {products.forward.sum(), attention.forward_s, forward_memory_s};
  out.backward = {products.backward_s, attention.backward_s,
                  memory_seconds(setup, n, stack.backward_elements) + stacked_values_s(setup, n)};
  out.recompute = recomputed(setup, products.forward, attention, forward_memory_s);
  out.recompute_communicates = setup.recompute == Recomputation::full;
  out.gaps_s = kLayerKernels * shared.kernel_gap_s;
  if (stack.eager) out.eager_floor_s = kLayerKernels * shared.eager_kernel_s + shared.eager_layer_s;
  if (setup.tp > 1) {
    const auto in_node = std::min(setup.tp, static_cast<std::int64_t>(devices_per_node(setup)));
    const double activations = kBytes * n.tokens * n.width;
    out.tensor_parallel_s = 2 * collective(setup, CollectiveKind::all_reduce, activations, setup.tp, in_node) *
                            (1 - setup.tp_overlap_fraction);
  }

  const double parameters = (out.layers * n.parameters + n.embedding_parameters) / n.tp;
  if (setup.shards_weights()) {
    add_sharded_weights(setup, n, out);
  } else {
    add_whole_weights(setup, parameters, out);
  }
  add_head(setup, n, out);
  out.optimizer_s = optimizer_bytes(setup, parameters) / device.stream_bytes_per_s();
  out.host_s = stack.host_s;
  if (setup.pp > 1) {
    const double message = kBytes * n.tokens * n.width / (setup.sequence_parallel ? n.tp : 1);
    out.stage_message_s =
        message / (setup.node_network_bytes_per_s / devices_per_node(setup) * shared.network_fraction);
  }
  out.overlap_fraction = stack.overlap_fraction;
  out.exposed_fraction = stack.exposed_fraction;
  out.contention_fraction = shared.contention_fraction;
  out.straggler_fraction = device.architecture.straggler_fraction;
  return out;
}

}  // namespace perfbench::predict
