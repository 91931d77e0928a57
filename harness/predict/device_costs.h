// Seconds of the parts of a step on one device: products, attention, collectives. Formulas and their constants come
// from public measurements alone (rates.h).
#pragma once

#include <cstdint>

#include "harness/predict/rates.h"

namespace perfbench::predict {

enum class FactorType { bf16, fp8, tf32 };

// Rows M, columns N and inner dimension K of a product.
struct ProductShape {
  double rows = 0;
  double columns = 0;
  double inner = 0;
};

// The larger of the time for FLOPs and for bytes. On a GPU the rate is that of the best tile and split of K: it counts
// padded tiles, the last wave of tiles over the multiprocessors, and the ramp of the main loop. On a TPU every
// dimension is padded to 128.
double product_seconds(const DeviceModel& device, const ProductShape& shape, FactorType type = FactorType::bf16);

struct AttentionRates {
  double forward_flops_per_s = 0;
  double backward_flops_per_s = 0;
};
// The rates of a fused kernel, counting the causal half of the products.
AttentionRates attention_rates(const DeviceModel& device, const FusedAttention& kernel, std::int64_t head_dim,
                               std::int64_t seq_len);

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce };

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_gather;
  double bytes = 0;  // of the whole, gathered buffer
  std::int64_t ranks = 1;
  std::int64_t ranks_in_node = 1;       // the other ranks of a node run the same collective and share its network
  double node_network_bytes_per_s = 0;  // of the node
  bool between_slices = false;          // TPUs: over the network of the hosts
};
// A ring: latency, hops and bytes over the slowest link. 0 for one rank.
double collective_seconds(const DeviceModel& device, const CollectiveCall& call);

}  // namespace perfbench::predict
