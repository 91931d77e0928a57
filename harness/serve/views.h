// What a server shows of a database: the documents of the commands, by address.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/app/installation.h"
#include "harness/app/runs/run_view.h"
#include "harness/serve/guards.h"
#include "harness/store/database.h"
#include "reports/render/document/document.h"
#include "reports/render/document/render.h"

namespace perfbench::harness {

// What an engine counted of runs is theirs whatever is written to the database: it is asked once, and not again every
// time that a page looks whether a sweep has added something.
class MemoryCounts {
 public:
  explicit MemoryCounts(EngineProgram engine) : engine_(std::move(engine)) {}
  const CountedMemory& of(const NamedRun& named);

 private:
  static constexpr std::size_t kMost = 64;
  EngineProgram engine_;
  std::map<std::string, CountedMemory> counts_;  // by run id
};

// Overview, report, runs, history and alerts: what every page leads to.
const reports::Site& site();

// Nothing for an address that is none. Throws InputError for what an address asks for and the store does not have.
// A report of all sweeps is refused: it would take minutes of a large store, in which nobody else gets an answer.
std::optional<reports::Document> view(const Connection& db, const ViewRequest& request,
                                      const Installation& installation, MemoryCounts& counts);

}  // namespace perfbench::harness
