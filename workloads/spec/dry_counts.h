// The part of a dry walk that a plan keeps: the report, with its tensors by kind. One line of `perfbench-engine dry
// --largest N`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/dry_report.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::spec {

struct DryCounts : DryReport {
  std::vector<TensorGroup> largest;  // at the peak, largest first

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    DryReport::fields(self, f);
    f(Field{"largest", "tensors alive at the peak, by kind"}.omitted_at_default(), self.largest);
  }
};

// The bytes that must exist on one device at once: the arena, including gaps between live tensors. Offloaded values are
// elsewhere: those of a GPU in the host's memory, those of a CPU in a file. A plan shows this number and compares it
// with the device's memory. `counts`: DryReport, StageCounts or RankMemory.
template <class Counts>
std::int64_t needed_bytes(const Counts& counts) {
  return std::max(counts.arena_bytes, counts.peak.total_bytes);
}

// Groups by scope, type, shape and name without layer numbers, largest first.
std::vector<TensorGroup> group_tensors(const std::vector<LiveTensor>& tensors);

// Replaces the list of all tensors by the `most` largest groups.
DryCounts summed_up(DryReport report, std::size_t most);

std::string to_json_line(const DryCounts& counts);
// Also reads the line of a DryReport. Throws SpecError.
DryCounts parse_dry_counts(std::string_view line);

}  // namespace perfbench::spec
