// A run's trace as an SQLite file with the table and column names of an Nsight Systems export, so that tools for one
// can read the other.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

// Tables: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and _RUNTIME (calls of the device's interface) for events on a
// device, NVTX_EVENTS for every span of the host, StringIds, ThreadNames, ENUM_NSYS_EVENT_TYPE, META_DATA_EXPORT.
// Source of the schema: Nsight Systems User Guide, "SQLite Schema Reference". Columns that the engine does not record
// are 0 where the schema requires a number, and NULL elsewhere. A process is a rank: globalPid is (rank + 1) << 24,
// globalTid is that plus the lane.
//
// Replaces `file` when everything is written. Throws StoreError if that fails.
void write_nsight_sqlite(const std::filesystem::path& file, const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
