// Imports the lines of an export (record_writer.h) into a database: attempts through the writer of ingest
// (harness/store/attempts/evidence_writer.h), the rest through the ledgers. Existing records are recognised by the name
// that they have in every database or, if they have none, by their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "harness/store/archive/archive.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

struct ImportCount {
  std::int64_t added = 0;
  std::int64_t present = 0;
};
// Counts for "attempts", "tags", "notes", "baselines", "comparisons", "bisections", "alerts" (an alert with new events
// counts as present), "selftest_results"; "steps" counts rows of the added attempts.
using ImportCounts = std::map<std::string, ImportCount>;

// Call it inside a transaction. Errors are InputErrors whose messages name the file, the mistake and its place.
class RecordImport {
 public:
  RecordImport(Connection& db, std::string file, ArchivedRecords records = ArchivedRecords::all);
  ~RecordImport();

  void take(std::string_view line);  // without its newline
  ImportCounts finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace perfbench::harness
