// Lines of an export (record_writer.h) into a database: attempts as ingest takes them in
// (harness/store/attempts/evidence_writer.h), the rest through its own ledgers. What is there already is known by what
// it is called in every database, and by its contents where it has no such name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "harness/store/sqlite.h"

namespace perfbench::harness {

struct ImportCount {
  std::int64_t added = 0;
  std::int64_t present = 0;
};
// Of "attempts", "tags", "notes", "baselines", "comparisons", "bisections", "alerts" (with events that the database
// lacked: present), "selftest_results"; "steps" are rows of the attempts added.
using ImportCounts = std::map<std::string, ImportCount>;

// Call it within a transaction. Of an error every message names the file and what was wrong where: InputError.
class RecordImport {
 public:
  RecordImport(Connection& db, std::string file);
  ~RecordImport();

  void take(std::string_view line);  // without its newline
  ImportCounts finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace perfbench::harness
