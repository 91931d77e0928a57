// The trace of a run directory, as the engine wrote it (workloads/spec/trace_record.h), read and checked.
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

// Every rank's trace, by rank; empty when no rank has one. `ranks` of the run, where that is known. Throws InputError,
// "[trace] file:line what is wrong", for a rank that is missing and for a file that was cut off or damaged: half a
// trace gives wrong sums, so it gives none.
std::vector<RankTrace> read_traces(const std::filesystem::path& directory,
                                   std::optional<std::int64_t> ranks = std::nullopt);

}  // namespace perfbench::harness
