// A run's trace as an SQLite file under the table and column names of an Nsight Systems export, so that what reads one
// reads the other.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

// Tables: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and _RUNTIME (calls of the device's interface) of what happened
// on a device, NVTX_EVENTS of every span of the host, StringIds, ThreadNames, ENUM_NSYS_EVENT_TYPE, META_DATA_EXPORT.
// Source of the schema: Nsight Systems User Guide, "SQLite Schema Reference". Columns of what the engine does not
// record hold 0 where the schema wants a number and NULL elsewhere. A process is a rank: globalPid is
// (rank + 1) << 24, globalTid that plus the lane.
//
// Replaces `file` when all is written. Throws StoreError when it cannot be.
void write_nsight_sqlite(const std::filesystem::path& file, const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
