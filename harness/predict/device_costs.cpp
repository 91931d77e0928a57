#include "harness/predict/device_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perfbench::predict {
namespace {

constexpr double kTpuTile = 128;
constexpr double kTpuDevicesPerHost = 4;
constexpr std::int64_t kLargestSingleAxisRing = 16;
constexpr std::int64_t kNarrowHead = 64;  // elements

double rounded_up(double value, double unit) {
  return std::ceil(value / unit) * unit;
}

double tpu_efficiency(const ProductShape& p, double ramp_k) {
  return p.rows / rounded_up(p.rows, kTpuTile) * p.columns / rounded_up(p.columns, kTpuTile) * p.inner /
         rounded_up(p.inner, kTpuTile) * p.inner / (p.inner + ramp_k);
}

double gpu_efficiency(const DeviceModel& device, const ProductShape& p, double ramp_k) {
  constexpr double kLeastSplitInner = 512;
  constexpr double kSplitCost = 0.95;  // partial sums are added
  const auto processors = static_cast<double>(device.figures.multiprocessors);
  double best = 0;
  for (const auto& tile : device.shared.tiles) {
    const auto rows = static_cast<double>(tile.rows);
    const auto columns = static_cast<double>(tile.columns);
    const double tiles = std::ceil(p.rows / rows) * std::ceil(p.columns / columns);
    const double padding = p.rows * p.columns / (tiles * rows * columns);
    for (const double split : {1.0, 2.0, 4.0, 8.0}) {
      const double inner = p.inner / split;
      if (split > 1 && (tiles >= 2 * processors || inner < kLeastSplitInner)) break;
      const double wave = tiles * split / rounded_up(tiles * split, processors);
      const double cost = split > 1 ? kSplitCost : 1;
      best = std::max(best, tile.relative_rate * padding * wave * inner / (inner + ramp_k) * cost);
    }
  }
  return best;
}

double curve_limit(const DeviceModel& device, const LengthCurve& curve) {
  return curve.flops_per_s * device.figures.power_fraction +
         curve.peak_fraction * device.hardware.peak_flops_per_s.bf16;
}

double hop_factor(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce ? 2 : 1;
}

double tpu_collective_seconds(const DeviceModel& device, const CollectiveCall& call, double moved_bytes) {
  const auto& shared = device.shared;
  if (call.between_slices) {
    const double bandwidth = device.figures.node_network_bytes_per_s / kTpuDevicesPerHost * shared.network_fraction;
    return moved_bytes / bandwidth + shared.tpu_slice_s;
  }
  const double axes = call.ranks > kLargestSingleAxisRing
                          ? static_cast<double>(std::min<std::int64_t>(device.figures.link_axes, 2))
                          : 1;
  const double bandwidth = 2 * axes * device.figures.link_bytes_per_s * shared.tpu_link_fraction;
  return moved_bytes / bandwidth +
         shared.tpu_hop_s * std::sqrt(static_cast<double>(call.ranks)) * hop_factor(call.kind);
}

}  // namespace

double product_seconds(const DeviceModel& device, const ProductShape& p, FactorType type) {
  const auto& peaks = device.hardware.peak_flops_per_s;
  const auto& architecture = device.architecture;
  const bool fp8 = type == FactorType::fp8;
  const double peak = fp8 ? peaks.fp8 : type == FactorType::tf32 ? peaks.tf32 : peaks.bf16;
  const double fraction = fp8 ? architecture.sustained_fraction_fp8 : architecture.sustained_fraction;
  const double ramp_k = architecture.ramp_k * (fp8 ? 2 : 1);
  const double efficiency = device.is_tpu() ? tpu_efficiency(p, ramp_k) : gpu_efficiency(device, p, ramp_k);
  const double rate = peak * fraction * device.figures.power_fraction * efficiency;
  const double factor_bytes = fp8 ? 1 : type == FactorType::tf32 ? 4 : 2;
  const double bytes = factor_bytes * (p.rows * p.inner + p.inner * p.columns) + 2 * p.rows * p.columns;
  return std::max(2 * p.rows * p.columns * p.inner / rate, bytes / device.stream_bytes_per_s());
}

AttentionRates attention_rates(const DeviceModel& device, const FusedAttention& kernel, std::int64_t head_dim,
                               std::int64_t seq_len) {
  const auto& curves = head_dim > kNarrowHead ? kernel.wide_heads : kernel.narrow_heads;
  const auto s = static_cast<double>(seq_len);
  const auto rate = [&](const LengthCurve& curve) { return curve_limit(device, curve) * s / (s + curve.half_length); };
  return {.forward_flops_per_s = rate(curves.forward), .backward_flops_per_s = rate(curves.backward)};
}

double collective_seconds(const DeviceModel& device, const CollectiveCall& call) {
  if (call.ranks <= 1) return 0;
  const auto& shared = device.shared;
  const auto ranks = static_cast<double>(call.ranks);
  const double factor = hop_factor(call.kind);
  const double moved_bytes = factor * call.bytes * (ranks - 1) / ranks;
  if (device.is_tpu()) return tpu_collective_seconds(device, call, moved_bytes);
  double bandwidth = device.figures.node_bus_bytes_per_s;
  double hops_s = (ranks - 1) * shared.hop_inside_node_s;
  if (call.ranks_in_node < call.ranks) {
    const auto in_node = static_cast<double>(call.ranks_in_node);
    const auto node = static_cast<double>(device.hardware.devices_per_node);
    const double network = call.node_network_bytes_per_s * shared.network_fraction * std::min(1.0, in_node / node);
    bandwidth = call.ranks_in_node > 1 ? std::min(bandwidth, network) : network;
    hops_s = call.kind == CollectiveKind::all_reduce ? std::log2(ranks) * shared.all_reduce_level_s
                                                     : (ranks - 1) * shared.hop_across_nodes_s;
  }
  return moved_bytes / bandwidth + shared.collective_base_s + hops_s * factor;
}

}  // namespace perfbench::predict
