// Walks the schedule of a run without computing: `perfbench plan` prints the result.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/trace/trace_recorder.h"
#include "workloads/spec/dry_report.h"
#include "workloads/spec/operation_work.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Counts one step of one rank. A run without kernels in the engine, or one that needs more than run.memory_limit_bytes,
// is reported as infeasible with the reason.
spec::DryReport dry_walk(const spec::RunSpec& run, std::int64_t rank);

// The same for the rank that needs the most memory, with the needs of each pipeline stage. Infeasible if any rank is.
spec::DryReport dry_walk_of_worst(const spec::RunSpec& run);

// The memory alive over that step, for a rank of a run that dry_walk() has walked.
std::vector<spec::MemorySample> memory_course(const spec::RunSpec& run, std::int64_t rank);

// The rows of a list of operations: one for each operation, or one for each form of its operands.
enum class OperationRows { whole, by_form };

// The cost of each operation of that step, feasible as above. The parameter update is included, the initialisation is
// not.
spec::DryOperations count_operations(const spec::RunSpec& run, std::int64_t rank,
                                     OperationRows rows = OperationRows::whole);

// The address ranges that a rank's arenas need, including gaps: a backend allocates them before the run.
struct ArenaExtents {
  std::int64_t device_bytes = 0;
  std::int64_t host_bytes = 0;
};
ArenaExtents arena_extents(const spec::RunSpec& run, std::int64_t rank);

// The number of spans in one traced step of one rank, for a run that the engine has kernels for.
SpanCounts count_spans(const spec::RunSpec& run, std::int64_t rank);

}  // namespace perfbench::engine
