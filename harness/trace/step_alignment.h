// A traced step of one run beside that of another, operation by operation. A pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

struct OperationTime {
  std::int64_t start_ns = 0;  // from the beginning of its rank's step
  std::int64_t end_ns = 0;

  std::int64_t ns() const { return end_ns - start_ns; }
};

// An operation, collective or copy of both steps, or of one alone.
struct AlignedOperation {
  std::int64_t rank = 0;
  std::string name;  // as Activity
  std::string phase;
  std::string range;  // part of the model: "layers.3 recompute"; empty where none is known
  std::optional<OperationTime> a;
  std::optional<OperationTime> b;

  // What it takes more in B; all of it where A has none.
  std::int64_t difference_ns() const { return (b ? b->ns() : 0) - (a ? a->ns() : 0); }
};

struct StepAlignment {
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t a_wall_ns = 0;  // of the slowest rank
  std::int64_t b_wall_ns = 0;
  std::vector<AlignedOperation> operations;  // by rank, in the order of their beginnings; B's own behind what B did
                                             // before them
};

// Of each run the step of middle length. The n-th operation of a name, phase and range of a rank is the n-th of the
// other's: what one of them has more of is at the end of these. Nothing where a run has no step, or no rank is of both.
std::optional<StepAlignment> align_steps(const std::vector<RankTrace>& a, const std::vector<RankTrace>& b);

}  // namespace perfbench::harness
