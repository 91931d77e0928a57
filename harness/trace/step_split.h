// A traced step divided among what ran in it: every nanosecond counts once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/trace_part.h"

namespace perfbench::harness {

struct StepShare {
  TracePart part = TracePart::other;
  std::string name;   // of the operation, collective or kernel; empty for idle time
  std::string phase;  // that it was computed in; empty for idle time and outside of phases
  std::int64_t ns = 0;
};

struct StepSplit {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t wall_ns = 0;
  std::int64_t collective_ns = 0;    // any collective ran, hidden behind computation or not: no share
  std::int64_t dropped_records = 0;  // of the rank's whole trace
  std::vector<StepShare> shares;     // sum to wall_ns; by part, name, phase
};

// By step. Where several run at once, a moment counts to the first part of trace_part.h, and within it to what began
// first.
std::vector<StepSplit> split_steps(const RankTrace& trace);
// Of every rank, one behind the other.
std::vector<StepSplit> split_steps(const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
