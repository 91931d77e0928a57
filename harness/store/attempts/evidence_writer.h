// The one way of an attempt into the database: from its run directory (ingest.h), or from a file of another database
// (harness/store/archive/transfer.h). What is derived, columns of a run and metrics, is made here and never taken from
// others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/run_evidence.h"
#include "harness/store/sqlite.h"
#include "harness/trace/trace_summary.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// A sweep as far as its attempts say what it is.
struct SweepEntry {
  std::string sweep_id;  // empty: of attempts outside a sweep
  std::string matrix;    // of its first attempt
  std::string started_utc;
  SweepKind kind = SweepKind::imported;
  std::string only;  // AttemptRecord::only

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"sweep_id", "its name"}, self.sweep_id);
    f(Field{"matrix", "matrix of its first attempt"}, self.matrix);
    f(Field{"started_utc", "when its first attempt began"}, self.started_utc);
    f(Field{"kind", "what it was made for"}, self.kind);
    f(Field{"selection", "which cells of the matrix it was to run; empty: all"}, self.only);
  }
};

// Adds it, or to what is known of it: the earlier beginning, the surer kind, a selection. Returns its key.
std::int64_t add_sweep(Connection& db, const SweepEntry& sweep);

// An attempt that the database does not have. Call it within a transaction. Throws StoreError (constraint) for two rows
// of one rank and step.
void add_evidence(Connection& db, const RunEvidence& evidence, const std::vector<TraceSummary>& traced);

}  // namespace perfbench::harness
