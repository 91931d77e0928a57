// A recorded run executed once more, and held against what it recorded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/app/reproduction.h"

namespace perfbench::harness {

class Interruption;

struct ReproduceRequest {
  std::string recorded;             // a folder or a name (run_name.h); of a run its newest attempt
  std::filesystem::path runs = {};  // of the new attempt; empty: where the recorded run is
  std::filesystem::path db = {};    // of names too; empty: the new attempt is in none, and names are of perf.db
  ExecutionOptions execution = {};
};

struct ReproduceOutcome {
  std::filesystem::path recorded;  // the attempt's folder
  std::filesystem::path repeated;
  std::vector<std::string> faults = {};  // injected into both
  Reproduction found;
  std::string store_error;  // why the new attempt is not in the database; empty: it is, or was not to be
  bool cancelled = false;   // nothing else is filled then
};

// With the threads that the run had, and with the faults that were injected into it. Throws InputError for a run that
// was cut off, or was never executed, and where the engine that takes faults is not there.
ReproduceOutcome reproduce_run(const ReproduceRequest& request, const Installation& installation,
                               Interruption& interruption);

}  // namespace perfbench::harness
