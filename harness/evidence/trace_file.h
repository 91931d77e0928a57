// The trace of a run directory as the engine wrote it (workloads/spec/trace_record.h), read and checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "workloads/spec/trace_record.h"

namespace perfbench::harness {

struct RankTrace {
  std::int64_t rank = 0;
  std::vector<spec::TraceEvent> events;  // in the order of the file
  spec::TraceEnd end;
};

// The trace of every rank, by rank; empty if no rank has one. `ranks` is the number of ranks of the run, where it is
// known. Throws InputError, "[trace] file:line what is wrong", if a rank is missing or a file is cut off or damaged:
// half a trace would give wrong sums, so it is refused.
std::vector<RankTrace> read_traces(const std::filesystem::path& directory,
                                   std::optional<std::int64_t> ranks = std::nullopt);

}  // namespace perfbench::harness
