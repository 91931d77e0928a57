// A type of device, whose peaks a run is compared with if it is not measured on this machine. The data is in
// workloads/hardware.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

// Dense peak rates of matrix products in FLOP/s by type of the factors; 0: the device has no such units, or no figure
// is published.
struct PeakRates {
  double fp32 = 0;
  double tf32 = 0;
  double bf16 = 0;
  double fp8 = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"fp32", "peak in fp32", 0.0}, self.fp32);
    f(Field{"tf32", "peak in tf32", 0.0}, self.tf32);
    f(Field{"bf16", "peak in bf16", 0.0}, self.bf16);
    f(Field{"fp8", "peak in fp8", 0.0}, self.fp8);
  }
};

struct HardwareSpec {
  std::string name;   // "h100"
  std::string title;  // "NVIDIA H100 SXM5 80GB"
  PeakRates peak_flops_per_s;
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::int64_t devices_per_node = 0;  // of the usual node, between which links are slower; 0: there is no usual size
  std::vector<std::string> aliases;   // as in published rows: "H100 80G SXM"
  std::vector<std::string> source;
  std::string notes;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "name", .help = "name of the device type", .presence = Presence::required}, self.name);
    f(Field{.name = "title", .help = "full name", .presence = Presence::required}, self.title);
    f(Field{.name = "peak_flops_per_s", .help = "dense peaks", .presence = Presence::required}, self.peak_flops_per_s);
    f(Field{"memory_bytes", "device memory", 1, 1e15, Presence::required}, self.memory_bytes);
    f(Field{"memory_bytes_per_s", "memory bandwidth", 1, 1e15, Presence::required}, self.memory_bytes_per_s);
    f(Field{"devices_per_node", "devices of the usual node", 0, 1e6}, self.devices_per_node);
    f(Field{"aliases", "other names in use"}, self.aliases);
    f(Field{.name = "source", .help = "where the figures come from", .presence = Presence::required}, self.source);
    f(Field{"notes", "traps"}, self.notes);
  }
};

// The peak that MFU of a run in `precision` refers to, FLOP/s, or 0 if it is unknown. fp8 runs refer to the bf16 peak:
// some of their products stay in bf16, and the two precisions can be compared side by side.
double mfu_peak_flops_per_s(const HardwareSpec& hardware, Precision precision);

}  // namespace perfbench::spec
