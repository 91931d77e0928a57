#include "harness/app/pairs/stored_ab_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "harness/judge/comparison_judgement.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/stored_comparison.h"
#include "harness/store/stored_row.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

Decision decision_of(const Connection& db, const StoredVerdict& row, const RowName& name) {
  Decision out{.verdict = stored_enum<Verdict>(db, name, "verdict", row.verdict),
               .reason = stored_enum<VerdictReason>(db, name, "reason", row.reason),
               .detail = row.detail,
               .ratio = row.ratio,
               .p = row.p,
               .detectable_fraction = row.detectable_fraction};
  if (row.ratio_low && row.ratio_high) out.ratio_95 = Interval{.low = *row.ratio_low, .high = *row.ratio_high};
  return out;
}

void add_verdict(const Connection& db, const StoredVerdict& row, const RowName& name, CellVerdict& cell) {
  auto decision = decision_of(db, row, name);
  if (row.metric.empty()) {
    cell.whole = std::move(decision);
    return;
  }
  MetricVerdict metric{.rule = {.metric = row.metric, .margin_fraction = row.margin_fraction.value_or(0)},
                       .a_median = row.a_median,
                       .b_median = row.b_median,
                       .pairs = static_cast<std::size_t>(row.pairs_used)};
  metric.decided.decision = std::move(decision);
  metric.decided.final = true;
  if (row.pairs_needed) metric.decided.pairs_needed = static_cast<std::size_t>(*row.pairs_needed);
  cell.metrics.push_back(std::move(metric));
}

StoredSide side_of(const StoredComparison& comparison, Side side) {
  const auto row = std::find_if(comparison.sides.begin(), comparison.sides.end(),
                                [side](const StoredSide& one) { return one.side == side; });
  return row == comparison.sides.end() ? StoredSide{.side = side} : *row;
}

// The position in the catalog, which begins with the most important metrics.
std::size_t place_of(const std::string& metric) {
  const auto found = std::find_if(spec::kMetricCatalog.begin(), spec::kMetricCatalog.end(),
                                  [&metric](const auto& one) { return one.tag == metric; });
  return static_cast<std::size_t>(found - spec::kMetricCatalog.begin());
}

}  // namespace

std::optional<AbReport> stored_ab_report(const Connection& db, const std::string& comparison_id) {
  const auto stored = find_comparison(db, comparison_id, ComparisonParts::without_pairs);
  if (!stored) return std::nullopt;
  const auto recorded = find_judgement(db, comparison_id);
  const RowName name{"ab_verdicts", "comparison_id " + comparison_id};
  AbReport out{.comparison = {.key = stored->key,
                              .comparison_id = comparison_id,
                              .purpose = stored->purpose,
                              .matrix = stored->matrix,
                              .settings = stored->settings,
                              .seed = static_cast<std::uint64_t>(stored->seed),
                              .a = side_of(*stored, Side::a),
                              .b = side_of(*stored, Side::b)},
               .finished = !stored->finished_utc.empty(),
               .instructions_unavailable = "no run counted them"};
  std::map<std::int64_t, std::vector<const ExecutedPair*>> by_cell;
  const auto pairs = load_pairs(db, out.comparison.key);
  for (const auto& pair : pairs) by_cell[static_cast<std::int64_t>(pair.cell)].push_back(&pair);
  for (const auto& [index, label] : cell_labels(db, out.comparison.key)) {
    const auto& of_cell = by_cell[index];
    auto cell = count_pairs(label, of_cell, {});
    cell.in_turns = !of_cell.empty() && of_cell.front()->in_turns;
    for (const auto& row : stored->verdicts) {
      if (row.cell_index == index) add_verdict(db, row, name, cell);
    }
    std::stable_sort(cell.metrics.begin(), cell.metrics.end(),
                     [](const auto& x, const auto& y) { return place_of(x.rule.metric) < place_of(y.rule.metric); });
    if (recorded) {
      auto words = words_about_cell(*recorded, label);
      cell.notes = std::move(words.notes);
      cell.apart_because = std::move(words.apart_because);
    } else {
      note_failures(cell);
    }
    if (cell.instructions_ratio) out.instructions_unavailable.clear();
    out.cells.push_back(std::move(cell));
  }
  return out;
}

}  // namespace perfbench::harness
