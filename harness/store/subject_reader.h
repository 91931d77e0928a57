// Subjects out of the store: from the recorded digest of the engine, the command of the attempt, the pairs and sides of
// comparisons, and the facts that the engine told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/sqlite/sqlite.h"
#include "harness/store/environment_reader.h"
#include "harness/store/subject.h"

namespace perfbench::harness {

// An attempt, as far as its subject depends on it.
struct SubjectOf {
  std::int64_t attempt_key = 0;
  std::string sweep_id = {};
  SweepKind kind = SweepKind::imported;                       // of the sweep
  std::shared_ptr<const StoredEnvironment> environment = {};  // null: the engine never got that far
};

class SubjectReader {
 public:
  explicit SubjectReader(const Connection& db);

  Subject of(const SubjectOf& attempt);

 private:
  void read_side(const SubjectOf& attempt, Subject& out);

  Statement engine_;
  Statement inject_;
  Statement paired_side_;
  Statement sides_;
};

}  // namespace perfbench::harness
