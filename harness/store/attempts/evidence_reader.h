// What evidence_writer.h wrote, read back: with the same fields, less what the database does not keep.
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
  RunEvidence evidence;  // memory of each of several ranks is not kept; sweep_kind and selection are of the sweep
  std::vector<TraceSummary> traced;
};

// All of them throw UnreadableRow (stored_row.h).
StoredEvidence read_evidence(const Connection& db, std::int64_t attempt_key);

// Its attempt, its environment and what the store says of both, without run, result and rows.
RunEvidence read_circumstances(const Connection& db, std::int64_t attempt_key);

SweepEntry read_sweep(const Connection& db, const std::string& sweep_id);

}  // namespace perfbench::harness
