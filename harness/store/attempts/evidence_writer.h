// The only way into the database for an attempt, from its run directory (ingest.h) or from a file of another database
// (harness/store/archive/transfer.h). Derived values, which are columns of a run and metrics, are computed here and
// never taken from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/run_evidence.h"
#include "harness/store/sqlite.h"
#include "harness/trace/trace_summary.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// The facts about a sweep that its attempts contain.
struct SweepEntry {
  std::string sweep_id;  // empty: for attempts outside a sweep
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
    f(Field{"kind", "its purpose"}, self.kind);
    f(Field{"selection", "cells of the matrix that it was to run; empty: all"}, self.only);
  }
};

// Adds the sweep, or completes the known entry: the earlier beginning, the more specific kind, a selection. Returns its
// key.
std::int64_t add_sweep(Connection& db, const SweepEntry& sweep);

// Adds an attempt that the database does not have. Call it inside a transaction. Throws StoreError (constraint) for two
// rows with the same rank and step.
void add_evidence(Connection& db, const RunEvidence& evidence, const std::vector<TraceSummary>& traced);

}  // namespace perfbench::harness
