// The rates that the operations of traced steps reach, beside the limits of their device: the roofline model (Williams,
// Waterman and Patterson, 2009, https://doi.org/10.1145/1498765.1498785).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "workloads/spec/operation_work.h"

namespace perfbench::harness {

// One operation of one rank; its numbers are those of a step.
struct OperationRate {
  std::string name;          // of its spans
  std::int64_t calls = 0;    // as counted
  std::int64_t flops = 0;    // of matrix products; 0 for other operations
  std::int64_t bytes = 0;    // with every operand read once or written once
  double time_s = 0;         // during which it ran, mean over the traced steps; above 0
  double step_fraction = 0;  // of the duration of a traced step

  double flops_per_s() const { return static_cast<double>(flops) / time_s; }
  double bytes_per_s() const { return static_cast<double>(bytes) / time_s; }
  double flops_per_byte() const { return static_cast<double>(flops) / static_cast<double>(bytes); }
};

// The peaks of one device; 0 where a peak is unknown.
struct DevicePeaks {
  std::string name;
  double flops_per_s = 0;
  double bytes_per_s = 0;  // of its memory

  // The rate that an operation of this intensity, in FLOP per byte, could reach at most as far as the peaks are known.
  double attainable_flops_per_s(double flops_per_byte) const;
};

// The least time that the device's peaks allow, divided by the operation's time. Above 1 if operands were in a cache.
// nullopt if a peak that it needs is unknown.
std::optional<double> fraction_of_roof(const OperationRate& rate, const DevicePeaks& peaks);

// Operations that were traced and counted, those that take the longest first. Empty if the trace has no step, or has
// dropped records: the times would be too small. `work` is that of the trace's rank.
std::vector<OperationRate> operation_rates(const RankTrace& trace, const spec::DryOperations& work);

}  // namespace perfbench::harness
