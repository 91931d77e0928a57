// Divides the time of a traced step among the activities in it: every nanosecond counts once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/activities.h"
#include "harness/trace/trace_part.h"

namespace perfbench::harness {

struct StepShare {
  TracePart part = TracePart::other;
  std::string name;   // name of the operation, collective or kernel; empty for idle time
  std::string phase;  // in which it was computed; empty for idle time and outside of phases
  std::int64_t ns = 0;
};

struct StepSplit {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t wall_ns = 0;
  std::int64_t collective_ns =
      0;  // time during which any collective ran, hidden behind computation or not; it is not a share
  std::int64_t dropped_records = 0;  // in the rank's whole trace
  std::vector<StepShare> shares;     // they sum to wall_ns; sorted by part, name, phase
};

// By step. Where several activities run at once, a moment counts to the first part in the order of trace_part.h, and
// within the part to the activity that began first.
std::vector<StepSplit> split_steps(const RankTrace& trace);
// The splits of all ranks, in sequence.
std::vector<StepSplit> split_steps(const std::vector<RankTrace>& traces);

// A stretch of time that counts to one activity, or is idle.
struct StepStretch {
  TracePart part = TracePart::other;
  std::string name;   // as in StepShare
  std::string phase;  // as in StepShare
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// The same rule, moment by moment: stretches without gaps from begin_ns to end_ns, neighbours of which differ.
std::vector<StepStretch> stretches_of(const std::vector<Activity>& activities, std::int64_t begin_ns,
                                      std::int64_t end_ns);

}  // namespace perfbench::harness
