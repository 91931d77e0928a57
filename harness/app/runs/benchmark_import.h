// Imports what benchmark programs write. Each benchmark becomes an attempt of a run with a program, as `perfbench
// adapt` makes one of a log, and goes through the writer that ingest uses. So its metrics, series, verdicts, pages and
// exports are those of any cell, and there is no second way into the tables. It has no run directory: the imported file
// is the evidence, which one transaction stores completely or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/readers/benchmarks/benchmark_formats.h"
#include "harness/store/database.h"

namespace perfbench::harness {

struct BenchmarkImport {
  const readers::BenchmarkFormat* format = nullptr;  // never null
  std::vector<std::filesystem::path> files;          // parts of one night; at least one
  std::string matrix = {};                           // empty: the program that the files name
  std::string started_utc = {};  // empty: each file's date, or else the time at which it was written
  std::string git_commit = {};   // empty: each file's
};

struct ImportedBenchmarks {
  std::string sweep_id;  // from the SHA-256 of the files in any order, so that a second import finds the first
  std::string matrix;
  bool present = false;  // these files were imported before; nothing was added
  std::int64_t samples = 0;
  std::map<AttemptState, std::int64_t> states;  // number of benchmarks
  std::int64_t averages = 0;                    // benchmarks of which a file has no samples
  std::vector<std::string> notes;
};

// Throws InputError, "[import] file:line what is wrong", without adding anything. Files of different programs are
// refused if the request does not name their matrix.
ImportedBenchmarks import_benchmarks(Connection& db, const BenchmarkImport& request);

}  // namespace perfbench::harness
