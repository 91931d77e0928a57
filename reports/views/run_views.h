// Documents about runs. `perfbench show`, `diff` and `trace` print them, and a server shows the same ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/runs/run_view.h"
#include "harness/app/runs/traced_run.h"
#include "harness/store/database.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Counts of runs by an engine, which do not depend on changes of the database. So the engine is asked once for each
// run.
class MemoryCounts {
 public:
  explicit MemoryCounts(harness::EngineProgram engine) : engine_(std::move(engine)) {}
  const harness::CountedMemory& of(const harness::NamedRun& named);

 private:
  static constexpr std::size_t kMost = 64;
  harness::EngineProgram engine_;
  std::map<std::string, harness::CountedMemory> counts_;  // by run id
};

// Where run directories are, and which fields of a configuration are shown.
struct RunQuery {
  std::filesystem::path runs;
  harness::Fields fields = harness::Fields::not_default;
};

Document run_view(const harness::Connection& db, harness::NamedRun named, const RunQuery& query,
                  const harness::Installation& installation, MemoryCounts& memory);

Document difference_view(const harness::Connection& db, harness::NamedRun left, harness::NamedRun right,
                         const RunQuery& query, const harness::Installation& installation);

Document trace_view(const harness::TracedRun& traced, const harness::Installation& installation);
// Throws InputError for steps that cannot be compared.
Document trace_difference_view(const harness::TracedRun& before, const harness::TracedRun& after);

}  // namespace perfbench::reports
