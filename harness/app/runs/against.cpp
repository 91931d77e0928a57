#include "harness/app/runs/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/cell_mfu.h"
#include "harness/judge/cell_runs.h"
#include "harness/judge/compare_published.h"
#include "harness/judge/program_rules.h"
#include "harness/stats/false_discovery.h"
#include "harness/stats/verdict.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

constexpr std::string_view kPublished = "published:";

PublishedEntry published_row(const PublishedCatalog& published, const std::string& name) {
  try {
    return published.row(name);
  } catch (const spec::SpecError& e) {
    throw InputError(std::string("[compare] ") + e.what());
  }
}

[[noreturn]] void nothing_of_that_name(const Connection& db, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : list_baselines(db)) known.push_back(entry.name);
  throw InputError("[compare] there is no baseline '" + name + "' in force" + spec::suggestion(name, known) +
                   "; `perfbench baseline list` shows all; published:SYSTEM/ID names a published row, run:ID or "
                   "attempt:ID/N runs of this database");
}

// The baseline that a name stands for, before any metric is considered.
struct NamedBaseline {
  std::optional<PublishedEntry> published;  // or:
  std::optional<Baseline> values;           // an entry with numbers from outside, or:
  std::optional<RunBaseline> runs;
};

RunBaseline run_baseline(const Connection& db, const AgainstRequest& request, const std::string& text) {
  const auto selection = parse_selection(text);
  const bool sweep = selection.kind == SelectionKind::sweep;
  return {.scope = request.baseline,
          .cells = split_by_machine(group_by_subject(choose_attempts(db, selection).attempts)),
          .for_every_cell = !sweep,
          .absent = sweep ? request.absent : AbsentCells::passed_over};
}

NamedBaseline find_named(const Connection& db, const PublishedCatalog& published, const AgainstRequest& request) {
  const auto& name = request.baseline;
  NamedBaseline out;
  if (name.starts_with(kPublished)) {
    out.published = published_row(published, name);
  } else if (name.starts_with("run:") || name.starts_with("attempt:")) {
    out.runs = run_baseline(db, request, name);
  } else if (const auto entry = find_baseline(db, name, request.now_utc)) {
    if (entry->kind == BaselineKind::published) {
      out.published = published_row(published, entry->source);
    } else if (entry->attempt_keys.empty()) {
      out.values = entry;
    } else {
      out.runs = RunBaseline{.scope = "baseline '" + name + "'",
                             .cells = split_by_machine(group_by_subject(load_attempts(db, entry->attempt_keys))),
                             .absent = request.absent};
    }
  } else if (is_run_id_start(name.substr(0, name.find('@')))) {
    out.runs = run_baseline(db, request, "run:" + name);
  } else {
    if (!has_sweep(db, name) && !has_sweep(db, parse_selection(name).id)) nothing_of_that_name(db, name);
    out.runs = run_baseline(db, request, name);
  }
  return out;
}

// Refuses a baseline with several subjects, without the runs that are compared with it.
void refuse_mixed(const RunBaseline& baseline, const std::vector<CellRuns>& current, const std::string& name) {
  std::set<std::int64_t> keys;
  for (const auto& cell : current) {
    for (const auto& attempt : cell.attempts) keys.insert(attempt.key);
  }
  auto cells = baseline.cells;
  for (auto& cell : cells) {
    std::erase_if(cell.attempts, [&keys](const StoredAttempt& attempt) { return keys.contains(attempt.key); });
  }
  std::erase_if(cells, [](const CellRuns& cell) { return cell.attempts.empty(); });
  const bool of_ledger = baseline.scope != name;
  refuse_mixed_runs(cells, "[compare] " + baseline.scope, of_ledger ? "" : name);
}

// Two metrics of a gate are not of every cell: the results of an evaluation, and the 90th percentile, which takes more
// steps than a short run has. A program may have any of the usual metrics or not, such as one of two losses.
bool may_be_absent(const CellRuns& cell, const std::string& metric) {
  if (metric.starts_with("eval_") || metric == "step_time_p90_s") return true;
  return cell.run().program != nullptr && is_judged(cell.run(), metric) && rule_of(cell.run(), metric).of_some_runs;
}

bool is_of(const CellRuns& cell, const std::string& metric) {
  if (metric.starts_with("eval_")) return !cell.run().trains() || cell.run().evaluates_at_end();
  return std::any_of(cell.attempts.begin(), cell.attempts.end(),
                     [&metric](const StoredAttempt& attempt) { return attempt.metrics.contains(metric); });
}

// Leaves out the cells in which neither side has the metric, if it may be absent.
void leave_out_absent(std::vector<CellComparison>& found, const std::string& metric,
                      std::initializer_list<const std::vector<CellRuns>*> sides) {
  std::set<std::string> run_ids;
  for (const auto* cells : sides) {
    for (const auto& cell : *cells) {
      if (is_of(cell, metric) || !may_be_absent(cell, metric)) run_ids.insert(cell.run_id);
    }
  }
  std::erase_if(found, [&](const CellComparison& comparison) { return !run_ids.contains(comparison.run_id); });
}

// Throws InputError for a metric by which none of these cells can be judged, with the closest one.
void require_judged(const std::vector<CellRuns>& cells, const std::string& metric) {
  const auto is_wanted = [&metric](const CellRuns& cell) { return is_judged(cell.run(), metric); };
  if (std::any_of(cells.begin(), cells.end(), is_wanted)) return;
  if (spec::find_metric(metric)) metric_rule(metric);  // says why it cannot judge
  auto all = judged_metrics();
  all.emplace_back("gate");
  for (const auto& cell : cells) {
    if (cell.run().program == nullptr) continue;
    for (const auto& rule : program_rules(cell.run().program->spec)) {
      if (std::find(all.begin(), all.end(), rule.metric) == all.end()) all.push_back(rule.metric);
    }
  }
  const auto near = spec::nearest(metric, all);
  throw InputError(fmt::format(
      "[compare] --metric '{}': neither the catalog nor a program of these cells has such a metric{}; the metrics are, "
      "the closest first:\n  {}",
      metric, near ? " (did you mean '" + *near + "'?)" : "", fmt::join(spec::nearest_first(metric, all), ", ")));
}

// The cells that can be judged by the metric: for one that a program declares, those of the program.
std::vector<CellRuns> cells_judged_by(const std::string& metric, const std::vector<CellRuns>& cells) {
  std::vector<CellRuns> out;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(out),
               [&metric](const CellRuns& cell) { return is_judged(cell.run(), metric); });
  return out;
}

}  // namespace

std::vector<std::string> gate_metrics(const std::vector<CellRuns>& cells) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& metric) {
    if (std::find(out.begin(), out.end(), metric) == out.end()) out.push_back(metric);
  };
  for (const auto& cell : cells) {
    if (const auto& program = cell.run().program) {
      for (const auto& rule : program_rules(program->spec)) add(rule.metric);
    } else {
      for (const auto* metric : kGateMetrics) add(metric);
    }
  }
  return out;
}

ComparedAgainst compare_against(const Connection& db, const PublishedCatalog& published, std::vector<CellRuns> current,
                                const HardwareByName& hardware, const AgainstRequest& request) {
  for (const auto& metric : request.metrics) require_judged(current, metric);  // before anything is searched
  const bool is_of_several = request.metrics.size() > 1;
  auto baseline = find_named(db, published, request);
  if (baseline.runs) refuse_mixed(*baseline.runs, current, request.baseline);
  add_computed_metrics(current, hardware);
  if (baseline.runs) add_computed_metrics(baseline.runs->cells, hardware);
  const std::vector<CellRuns> none;
  std::vector<CellComparison> out;
  for (const auto& metric : request.metrics) {
    const auto known = request.sessions.find(metric);
    const auto levels = known == request.sessions.end() ? SessionLevels() : known->second;
    const auto cells = cells_judged_by(metric, current);
    auto found = baseline.published ? compare_with_published(cells, {.entry = *baseline.published,
                                                                     .hardware = hardware,
                                                                     .metric = metric,
                                                                     .definition = request.definition})
                 : baseline.values  ? compare_with_values(cells, *baseline.values, metric, levels)
                                    : compare_with_runs(cells, *baseline.runs, metric, levels);
    if (is_of_several) leave_out_absent(found, metric, {&current, baseline.runs ? &baseline.runs->cells : &none});
    std::move(found.begin(), found.end(), std::back_inserter(out));
  }
  if (out.empty()) {
    throw InputError(fmt::format("[compare] neither side has any of the metrics {}", fmt::join(request.metrics, ", ")));
  }
  control_false_discoveries(tested_decisions(out), DecisionRule{}.alpha);
  return {std::move(out), std::move(baseline.published)};
}

}  // namespace perfbench::harness
