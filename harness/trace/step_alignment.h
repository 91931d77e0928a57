// Aligns a traced step of one run with that of another, operation by operation. A pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

struct OperationTime {
  std::int64_t start_ns = 0;  // since the start of its rank's step
  std::int64_t end_ns = 0;

  std::int64_t ns() const { return end_ns - start_ns; }
};

// An operation, collective or copy of both steps, or of only one.
struct AlignedOperation {
  std::int64_t rank = 0;
  std::string name;  // Activity::name
  std::string phase;
  std::string range;  // part of the model: "layers.3 recompute"; empty if unknown
  std::optional<OperationTime> a;
  std::optional<OperationTime> b;

  // How much longer it takes in B; its whole duration if A does not have it.
  std::int64_t difference_ns() const { return (b ? b->ns() : 0) - (a ? a->ns() : 0); }
};

struct StepAlignment {
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t a_wall_ns = 0;  // of the slowest rank
  std::int64_t b_wall_ns = 0;
  std::vector<AlignedOperation> operations;  // by rank, in the order of their start; operations that only B has follow
                                             // the operation after which B did them
};

// Takes from each run the step of middle duration. The n-th operation of a name, phase and range of a rank matches the
// n-th one of the other run; surplus operations come at the end. nullopt where a run has no step, or the runs have no
// rank in common.
std::optional<StepAlignment> align_steps(const std::vector<RankTrace>& a, const std::vector<RankTrace>& b);

}  // namespace perfbench::harness
