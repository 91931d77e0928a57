// Reads back the records of evidence_writer.h, with the same fields except those that the database does not keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/run_evidence.h"
#include "harness/store/attempts/evidence_writer.h"
#include "harness/store/sqlite.h"
#include "harness/trace/trace_summary.h"

namespace perfbench::harness {

struct StoredEvidence {
  RunEvidence evidence;  // memory of each of several ranks is not kept; sweep_kind and selection belong to the sweep
  std::vector<TraceSummary> traced;
};

// All of them throw UnreadableRow (stored_row.h).
StoredEvidence read_evidence(const Connection& db, std::int64_t attempt_key);

// Reads the attempt, its environment and the store's facts about both, without run, result and rows.
RunEvidence read_circumstances(const Connection& db, std::int64_t attempt_key);

SweepEntry read_sweep(const Connection& db, const std::string& sweep_id);

}  // namespace perfbench::harness
