// The critical path of a traced step over all its ranks: the chain of work and waiting that took the step's whole time.
// Only work on it can make the step shorter. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/step_split.h"
#include "workloads/spec/mesh_spec.h"

namespace perfbench::harness {

struct PathSegment {
  std::int64_t rank = 0;
  StepStretch stretch;
};

// The path comes from another rank here: to_rank waited in a collective, or for a message, until from_rank entered it.
struct PathHop {
  std::int64_t at_ns = 0;
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::string name;            // of the collective: "all_reduce", "receive"
  std::string axis;            // TraceEvent::axis
  std::int64_t waited_ns = 0;  // since the start of to_rank's span, which other work of that rank may have hidden
};

// Times are those of the trace, in nanoseconds.
struct CriticalPath {
  std::int64_t step = 0;
  std::int64_t start_ns = 0;          // the earliest start of the step on any rank
  std::int64_t end_ns = 0;            // the latest end on any rank
  std::vector<PathSegment> segments;  // in order of time, without gaps from start_ns to end_ns
  std::vector<PathHop> hops;          // in order of time

  std::int64_t ns() const { return end_ns - start_ns; }
};

enum class NoPath {
  no_step,       // a rank did not trace the step
  unknown_mesh,  // several ranks, and no mesh of as many devices to tell which of them communicate
  several_nodes  // the mesh has dcn axes: every node has its own clock (trace_record.h)
};

// Goes backwards from the end of the rank that ends last. The work before a moment of a rank is the activity that had
// ended last by then. Work that still ran cannot be the cause: a collective behind which the next kernel began is not
// on the path. Time between the two counts as the rank's split of the step counts it (step_split.h): to whatever ran
// beside, or idle. So the time before a rank's own step begins is idle. An activity without duration is on no path.
//
// A collective is on the path from the moment at which the last rank of its group entered, if that was after this
// rank's start, and the path then continues on that rank. A message waits in the same way for the other end. Calls
// belong together if they are the n-th of their name, axis and heading on each rank, by submission; if ranks differ in
// the number of such calls, the path stays on its rank. So it does at messages of a trace without headings.
std::variant<CriticalPath, NoPath> critical_path(const std::vector<RankTrace>& traces,
                                                 const std::optional<spec::MeshSpec>& mesh, std::int64_t step);

// The share of an operation, a collective or idle time.
struct PathShare {
  TracePart part = TracePart::other;
  std::string name;
  std::string phase;
  std::int64_t ns = 0;
  std::map<std::int64_t, std::int64_t> rank_ns;  // those of its nanoseconds that pass on each rank
};

// They sum to the path; the largest first.
std::vector<PathShare> path_shares(const CriticalPath& path);

// The nanoseconds of the path that pass on each rank.
std::map<std::int64_t, std::int64_t> rank_times(const CriticalPath& path);

}  // namespace perfbench::harness
