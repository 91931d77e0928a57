// Stores run directories in a database, with one transaction for each attempt. Known attempts are left unchanged, so
// the same directory can be ingested at any time, and by several processes at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/run_evidence.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

enum class Ingested { added, present, unfinished };

struct IngestOutcome {
  Ingested ingested = Ingested::unfinished;  // unfinished: no attempt.json yet
  std::int64_t step_rows = 0;                // number of added rows
  std::int64_t lost_step_lines = 0;          // number of last lines that were cut off when a rank died
  std::string trace_problem;                 // why the trace of a finished run gave no rows; the run itself was stored
  std::string damage;                        // the reason with which an attempt with damaged files was stored
  bool spoiled = false;                      // because of the damage: it is recorded as ok, but was stored as crashed
};

// Throws InputError for broken evidence (harness/evidence/run_directory.h), and for an attempt that the database has
// with other contents.
IngestOutcome ingest_run_directory(Connection& db, const std::filesystem::path& directory);

struct IngestReport {
  std::int64_t added = 0;
  std::int64_t present = 0;
  std::int64_t unfinished = 0;
  std::int64_t step_rows = 0;        // number of added rows
  std::int64_t lost_step_lines = 0;  // number of lines that were cut off, in the added attempts
  std::vector<std::string>
      problems;  // one message for each directory that was not stored, or was stored as crashed because of damage
  std::vector<std::string> damaged;         // one for each attempt that failed and left damaged files
  std::vector<std::string> trace_problems;  // one for each attempt that was stored without its trace
};

// Ingests every run directory below `root` (or `root` itself), sorted by path. A broken one becomes a problem in the
// report and does not stop the others. Throws InputError if there is no run directory.
IngestReport ingest_tree(Connection& db, const std::filesystem::path& root);

// The attempts of one sweep, one after the other; nullopt after the last one.
using EvidenceSource = std::function<std::optional<RunEvidence>()>;

struct SweepIngest {
  std::int64_t added = 0;  // attempts
  std::int64_t samples = 0;
  bool present = false;  // the database already had the sweep, and nothing was read or added
};

// Stores attempts that have no run directories, in one transaction: all of them or none. `sweep_id` is that of every
// one. The database never holds a part of such a sweep, so a known id means that all of it is there.
SweepIngest ingest_sweep(Connection& db, const std::string& sweep_id, const EvidenceSource& next);

}  // namespace perfbench::harness
