// Reads subjects from the store. They follow from the recorded digest of the engine, the command of the attempt, the
// pairs and sides of comparisons, and the facts that the engine reported.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "harness/evidence/attempt.h"
#include "harness/records/subject.h"
#include "harness/store/attempts/environments.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// The parts of an attempt on which its subject depends.
struct SubjectOf {
  std::int64_t attempt_key = 0;
  std::string sweep_id = {};
  SweepKind kind = SweepKind::imported;                       // kind of the sweep
  std::shared_ptr<const StoredEnvironment> environment = {};  // null: the engine did not get that far
};

class SubjectReader {
 public:
  explicit SubjectReader(const Connection& db);

  Subject of(const SubjectOf& attempt);

 private:
  void read_side(const SubjectOf& attempt, Subject& out);
  const std::string& engine(std::int64_t engine_key);
  void tell(const std::shared_ptr<const StoredEnvironment>& environment, Subject& out);

  Statement made_with_;
  Statement name_;
  Statement inject_;
  Statement paired_side_;
  Statement sides_;
  std::map<std::int64_t, std::string> engines_;  // by key, each read once
  // The facts of engines, read once for each environment, and separately for engines with a recorded digest.
  std::map<std::pair<std::shared_ptr<const StoredEnvironment>, bool>, std::optional<Subject>> told_;
};

}  // namespace perfbench::harness
