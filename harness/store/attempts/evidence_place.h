// Finds the run directories of stored attempts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/run_directory.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

class EvidencePlaces {
 public:
  EvidencePlaces(const Connection& db, std::filesystem::path runs);

  // RUNS/<run>/<number> of the attempt with that key, if the attempt.json there is exactly the one that was stored.
  // nullopt if there is none, or one of another attempt.
  std::optional<std::filesystem::path> of(std::int64_t attempt_key);

 private:
  Statement row_;
  std::filesystem::path runs_;
  std::map<std::string, std::vector<AttemptDirectory>> listed_;  // by run, because a run may have thousands
};

}  // namespace perfbench::harness
