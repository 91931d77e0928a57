#include "harness/compare/against.h"

#include "harness/compare/compare_published.h"
#include "harness/input_error.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

constexpr std::string_view kPublished = "published:";

std::vector<CellComparison> against_published(const PublishedCatalog& published, const std::vector<CellRuns>& current,
                                              const HardwareByName& hardware, const AgainstRequest& request,
                                              const std::string& name) {
  try {
    const auto entry = published.row(name);
    return compare_with_published(
        current, {.entry = entry, .hardware = hardware, .metric = request.metric, .definition = request.definition});
  } catch (const spec::SpecError& e) {
    throw InputError(std::string("[compare] ") + e.what());
  }
}

[[noreturn]] void nothing_of_that_name(const Connection& db, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : list_baselines(db)) known.push_back(entry.name);
  throw InputError("[compare] there is no baseline '" + name + "' in force" + spec::suggestion(name, known) +
                   "; `perfbench baseline list` shows all, published:SYSTEM/ID names a published row, "
                   "run:ID or attempt:ID/N runs of this database");
}

}  // namespace

std::vector<CellComparison> compare_against(const Connection& db, const PublishedCatalog& published,
                                            const std::vector<CellRuns>& current, const HardwareByName& hardware,
                                            const AgainstRequest& request) {
  const auto& name = request.baseline;
  rule_for(request.metric);  // a wrong metric is told before anything is looked for
  if (name.starts_with(kPublished)) return against_published(published, current, hardware, request, name);
  const auto runs = [&](const std::string& text) {
    const auto selection = parse_selection(text);
    const RunBaseline baseline{.scope = name,
                               .cells = group_by_run(load_attempts(db, selection)),
                               .for_every_cell = selection.kind != SelectionKind::sweep};
    return compare_with_runs(current, baseline, request.metric);
  };
  if (name.starts_with("run:") || name.starts_with("attempt:")) return runs(name);
  if (const auto entry = find_baseline(db, name, request.now_utc)) {
    if (entry->kind == BaselineKind::published) {
      return against_published(published, current, hardware, request, entry->source);
    }
    if (entry->attempt_keys.empty()) return compare_with_values(current, *entry, request.metric);
    const RunBaseline baseline{.scope = "baseline '" + name + "'",
                               .cells = group_by_run(load_attempts(db, entry->attempt_keys))};
    return compare_with_runs(current, baseline, request.metric);
  }
  if (is_run_id_start(name)) return runs("run:" + name);
  Statement sweep(db, "SELECT 1 FROM sweeps WHERE sweep_id = ?");
  if (sweep.with(name).step()) return runs(name);
  nothing_of_that_name(db, name);
}

}  // namespace perfbench::harness
