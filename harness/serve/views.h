// The pages of a server: the documents of the commands, by address.
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

// Counts of runs by an engine, which do not depend on changes of the database. So the engine is asked once, and not
// each time that a page checks whether a sweep has added something.
class MemoryCounts {
 public:
  explicit MemoryCounts(EngineProgram engine) : engine_(std::move(engine)) {}
  const CountedMemory& of(const NamedRun& named);

 private:
  static constexpr std::size_t kMost = 64;
  EngineProgram engine_;
  std::map<std::string, CountedMemory> counts_;  // by run id
};

// Overview, report, runs, history and alerts: the pages to which every page links.
const reports::Site& site();

// nullopt for an unknown address. Throws InputError if the store does not have what the address asks for. A report of
// all sweeps is refused: for a large store it would take minutes, in which no other request gets an answer.
std::optional<reports::Document> view(const Connection& db, const ViewRequest& request,
                                      const Installation& installation, MemoryCounts& counts);

}  // namespace perfbench::harness
