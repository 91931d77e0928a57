// Run directories into the database. One transaction per attempt; what is there already is left alone, so the same
// directory can be ingested at any time, and by several processes at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/sqlite.h"

namespace perfbench::harness {

enum class Ingested { added, present, unfinished };

struct IngestOutcome {
  Ingested ingested = Ingested::unfinished;  // unfinished: no attempt.json yet
  std::int64_t step_rows = 0;                // added
  std::int64_t lost_step_lines = 0;          // last lines that were cut off when a rank died
  std::string trace_problem;  // why the trace of a finished run gave no rows; the run itself was taken in
  std::string damage;         // the reason with which an attempt with damaged files was taken in
  bool spoiled = false;       // by them: it is recorded as ok, and was taken in as crashed
};

// Throws InputError for broken evidence (harness/evidence/run_directory.h), and for an attempt that the database knows
// with other contents.
IngestOutcome ingest_run_directory(Connection& db, const std::filesystem::path& directory);

struct IngestReport {
  std::int64_t added = 0;
  std::int64_t present = 0;
  std::int64_t unfinished = 0;
  std::int64_t step_rows = 0;               // added
  std::int64_t lost_step_lines = 0;         // cut off, of the attempts added
  std::vector<std::string> problems;        // one message per directory not taken in, or as crashed by its damage
  std::vector<std::string> damaged;         // one per attempt that failed and left damaged files
  std::vector<std::string> trace_problems;  // one per attempt that was taken in without its trace
};

// Every run directory below `root` (or `root` itself), in the order of their paths. A broken one is a problem of the
// report and does not stop the others. Throws InputError when there is no run directory.
IngestReport ingest_tree(Connection& db, const std::filesystem::path& root);

}  // namespace perfbench::harness
