// The schedule of a run, walked without computing: what `perfbench plan` prints.
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

// Counts one step of one rank. A run the engine has no kernels for, and one that needs more than
// run.memory_limit_bytes, comes back infeasible with the reason.
spec::DryReport dry_walk(const spec::RunSpec& run, std::int64_t rank);

// The same of the rank that needs most, with what each stage of a pipeline needs. Infeasible if any rank is.
spec::DryReport dry_walk_of_worst(const spec::RunSpec& run);

// How much is alive over that step: of a rank of a run that dry_walk() walked.
std::vector<spec::MemorySample> memory_course(const spec::RunSpec& run, std::int64_t rank);

// What each operation of that step costs, feasible as above. The update of the parameters is one of them, their first
// values are not.
spec::DryOperations count_operations(const spec::RunSpec& run, std::int64_t rank);

// Address ranges that a rank's arenas need, gaps included: what a backend allocates before the run.
struct ArenaExtents {
  std::int64_t device_bytes = 0;
  std::int64_t host_bytes = 0;
};
ArenaExtents arena_extents(const spec::RunSpec& run, std::int64_t rank);

// The spans of one traced step of one rank of a run that the engine has kernels for.
SpanCounts count_spans(const spec::RunSpec& run, std::int64_t rank);

}  // namespace perfbench::engine
