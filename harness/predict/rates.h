// The rates that devices sustain in products, attention, memory traffic and collectives: the figures of
// workloads/predictor/rates.yaml with their sources, beside the peaks of workloads/hardware.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/hardware.h"

namespace perfbench::predict {

enum class ArchitectureKind { gpu, tpu };

}  // namespace perfbench::predict

template <>
struct perfbench::spec::EnumNames<perfbench::predict::ArchitectureKind> {
  using K = perfbench::predict::ArchitectureKind;
  static constexpr std::array kNames{std::pair{K::gpu, "gpu"}, std::pair{K::tpu, "tpu"}};
};

namespace perfbench::predict {

// A tile of a matrix product, and its rate relative to the best tile.
struct TileShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double relative_rate = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"rows", "rows of a tile", 1, 1e6, spec::Presence::required}, self.rows);
    f(Field{"columns", "columns of a tile", 1, 1e6, spec::Presence::required}, self.columns);
    f(Field{"relative_rate", "rate relative to the best tile", 0.01, 1, spec::Presence::required}, self.relative_rate);
  }
};

// Figures that all devices share.
struct SharedRates {
  std::vector<TileShape> tiles;
  double memory_fraction = 0;      // of the memory bandwidth, in small kernels
  double stream_fraction = 0;      // of the memory bandwidth, in streams larger than caches
  double network_fraction = 0;     // of the line rate of a node's network
  double tpu_link_fraction = 0;    // of the line rate of TPU links
  double collective_base_s = 0;    // of every collective
  double hop_inside_node_s = 0;    // of a rank of a ring
  double hop_across_nodes_s = 0;   // of a rank of a ring that spans nodes
  double all_reduce_level_s = 0;   // of a level of a tree that spans nodes
  double tpu_hop_s = 0;            // times the root of the ranks
  double tpu_slice_s = 0;          // of a collective between slices
  double kernel_gap_s = 0;         // between two kernels
  double eager_kernel_s = 0;       // of the host, for one operator
  double eager_layer_s = 0;        // of the host, for the hooks of one sharded layer
  double contention_fraction = 0;  // seconds that computation loses for a second of hidden communication
  std::vector<std::string> source;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "tiles", .help = "tiles of a product", .presence = kRequired}, self.tiles);
    f(Field{"memory_fraction", "of the bandwidth, in small kernels", 0.01, 1, kRequired}, self.memory_fraction);
    f(Field{"stream_fraction", "of the bandwidth, in long streams", 0.01, 1, kRequired}, self.stream_fraction);
    f(Field{"network_fraction", "of the network's line rate", 0.01, 1, kRequired}, self.network_fraction);
    f(Field{"tpu_link_fraction", "of the line rate of TPU links", 0.01, 1, kRequired}, self.tpu_link_fraction);
    f(Field{"collective_base_s", "of every collective", 0, 1, kRequired}, self.collective_base_s);
    f(Field{"hop_inside_node_s", "of a rank of a ring", 0, 1, kRequired}, self.hop_inside_node_s);
    f(Field{"hop_across_nodes_s", "of a rank of a ring across nodes", 0, 1, kRequired}, self.hop_across_nodes_s);
    f(Field{"all_reduce_level_s", "of a level of a tree across nodes", 0, 1, kRequired}, self.all_reduce_level_s);
    f(Field{"tpu_hop_s", "times the root of the ranks", 0, 1, kRequired}, self.tpu_hop_s);
    f(Field{"tpu_slice_s", "of a collective between slices", 0, 1, kRequired}, self.tpu_slice_s);
    f(Field{"kernel_gap_s", "between two kernels", 0, 1, kRequired}, self.kernel_gap_s);
    f(Field{"eager_kernel_s", "of the host for an operator", 0, 1, kRequired}, self.eager_kernel_s);
    f(Field{"eager_layer_s", "of the host for a sharded layer", 0, 1, kRequired}, self.eager_layer_s);
    f(Field{"contention_fraction", "lost per second of hidden communication", 0, 10, kRequired},
      self.contention_fraction);
    f(Field{.name = "source", .help = "where the figures come from", .presence = kRequired}, self.source);
  }
};

// Attention that writes its scores: bytes moved for one of the b*h*s^2 scores.
struct MaterialisedAttention {
  double forward_bytes = 0;
  double backward_bytes = 0;
  double recompute_bytes = 0;
  double backward_slowdown = 1;  // of the products that give gradients of scores
  std::vector<std::string> source;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{"forward_bytes", "moved for a score", 0, 1e3, kRequired}, self.forward_bytes);
    f(Field{"backward_bytes", "moved for a score", 0, 1e3, kRequired}, self.backward_bytes);
    f(Field{"recompute_bytes", "moved for a score", 0, 1e3, kRequired}, self.recompute_bytes);
    f(Field{"backward_slowdown", "of products of the backward pass", 1, 100}, self.backward_slowdown);
    f(Field{.name = "source", .help = "where the figures come from", .presence = kRequired}, self.source);
  }
};

// FLOP/s of a fused attention kernel for sequences of s tokens: limit * s / (s + half_length), counting the causal
// half.
struct LengthCurve {
  double flops_per_s = 0;    // the limit, or
  double peak_fraction = 0;  // the limit as a part of the bf16 peak
  double half_length = 0;    // tokens

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"flops_per_s", "limit", 0, 1e18}, self.flops_per_s);
    f(Field{"peak_fraction", "limit as a part of the bf16 peak", 0, 1}, self.peak_fraction);
    f(Field{"half_length", "tokens at half the limit", 0, 1e7, spec::Presence::required}, self.half_length);
  }
};

struct HeadCurves {
  LengthCurve forward;
  LengthCurve backward;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{.name = "forward", .help = "rate", .presence = spec::Presence::required}, self.forward);
    f(Field{.name = "backward", .help = "rate", .presence = spec::Presence::required}, self.backward);
  }
};

struct FusedAttention {
  HeadCurves narrow_heads;  // of at most 64 elements
  HeadCurves wide_heads;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{.name = "narrow_heads", .help = "at most 64 elements", .presence = spec::Presence::required},
      self.narrow_heads);
    f(Field{.name = "wide_heads", .help = "more than 64 elements", .presence = spec::Presence::required},
      self.wide_heads);
  }
};

struct Architecture {
  ArchitectureKind kind = ArchitectureKind::gpu;
  double sustained_fraction = 0;      // of the peak, by the best products in a long run
  double sustained_fraction_fp8 = 0;  // 0: no figure
  double ramp_k = 0;                  // inner dimension at which a product reaches half its rate
  double uncertainty = 0;             // standard deviation of the logarithm of sustained_fraction
  double straggler_fraction = 0;      // standard deviation of the speed of devices of one type
  std::map<std::string, FusedAttention> attention;
  std::vector<std::string> source;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "kind", .help = "gpu or tpu", .presence = kRequired}, self.kind);
    f(Field{"sustained_fraction", "of the peak", 0.01, 1, kRequired}, self.sustained_fraction);
    f(Field{"sustained_fraction_fp8", "of the fp8 peak", 0, 1}, self.sustained_fraction_fp8);
    f(Field{"ramp_k", "inner dimension at half the rate", 0, 1e5, kRequired}, self.ramp_k);
    f(Field{"uncertainty", "of the logarithm of sustained_fraction", 0.001, 1, kRequired}, self.uncertainty);
    f(Field{"straggler_fraction", "spread of the speed of devices", 0, 1, kRequired}, self.straggler_fraction);
    f(Field{.name = "attention", .help = "fused kernels by name", .presence = kRequired}, self.attention);
    f(Field{.name = "source", .help = "where the figures come from", .presence = kRequired}, self.source);
  }
};

struct DeviceFigures {
  std::string name;
  std::string hardware;
  std::string architecture;
  std::int64_t multiprocessors = 0;     // GPUs
  double power_fraction = 1;            // of the clock that the architecture's figures were measured at
  double memory_bytes_per_s = 0;        // 0: of the hardware
  double node_bus_bytes_per_s = 0;      // bus bandwidth of a collective inside a node; GPUs
  double node_network_bytes_per_s = 0;  // of the usual node
  double link_bytes_per_s = 0;          // one way; TPUs
  std::int64_t link_axes = 0;           // TPUs
  std::vector<std::string> source;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "name", .help = "name of the device", .presence = kRequired}, self.name);
    f(Field{.name = "hardware", .help = "file of workloads/hardware", .presence = kRequired}, self.hardware);
    f(Field{.name = "architecture", .help = "one of architectures", .presence = kRequired}, self.architecture);
    f(Field{"multiprocessors", "of a GPU", 0, 1e4}, self.multiprocessors);
    f(Field{"power_fraction", "of the usual clock under load", 0.1, 2}, self.power_fraction);
    f(Field{"memory_bytes_per_s", "if it differs from the hardware's", 0, 1e15}, self.memory_bytes_per_s);
    f(Field{"node_bus_bytes_per_s", "bus bandwidth inside a node", 0, 1e15}, self.node_bus_bytes_per_s);
    f(Field{"node_network_bytes_per_s", "network of the usual node", 1, 1e15, kRequired},
      self.node_network_bytes_per_s);
    f(Field{"link_bytes_per_s", "of a TPU link, one way", 0, 1e15}, self.link_bytes_per_s);
    f(Field{"link_axes", "axes of the TPU's torus", 0, 8}, self.link_axes);
    f(Field{.name = "source", .help = "where the figures come from", .presence = kRequired}, self.source);
  }
};

// A device with everything that its costs depend on.
struct DeviceModel {
  DeviceFigures figures;
  spec::HardwareSpec hardware;
  Architecture architecture;
  SharedRates shared;
  std::map<std::string, MaterialisedAttention> materialised;

  bool is_tpu() const { return architecture.kind == ArchitectureKind::tpu; }
  double memory_bytes_per_s() const {
    return figures.memory_bytes_per_s > 0 ? figures.memory_bytes_per_s : hardware.memory_bytes_per_s;
  }
  double small_kernel_bytes_per_s() const { return memory_bytes_per_s() * shared.memory_fraction; }
  double stream_bytes_per_s() const { return memory_bytes_per_s() * shared.stream_fraction; }
};

// The devices of workloads/predictor/rates.yaml by name. `data_dir` holds workloads/. Throws InputError with the place
// in the file for an unknown key, an unknown hardware or architecture, and a device without a needed figure.
std::map<std::string, DeviceModel> load_devices(const std::filesystem::path& data_dir);

}  // namespace perfbench::predict
