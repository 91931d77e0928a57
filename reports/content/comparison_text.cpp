#include "reports/content/comparison_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/content/cells.h"
#include "reports/content/headline.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::CellComparison;
using Json = nlohmann::ordered_json;

std::int64_t run_count(std::size_t runs) {
  return static_cast<std::int64_t>(runs);
}

// The reason, other differences, and commands to repeat go below the table.
std::vector<std::string> notes_of(const CellComparison& comparison) {
  const auto& decision = comparison.decision;
  auto out = comparison.notes;
  if (decision.detail.empty()) return out;
  out.insert(out.begin(), std::string(spec::enum_name(decision.reason)) + ": " + decision.detail);
  return out;
}

// A name for the subject of each comparison that distinguishes it from the others.
std::vector<std::string> subjects_of(const std::vector<CellComparison>& comparisons) {
  harness::SubjectGroups groups;
  for (const auto& comparison : comparisons) groups.place_of(comparison.subject);
  const auto names = harness::distinct_names(groups.subjects());
  std::vector<std::string> out;
  for (const auto& comparison : comparisons) out.push_back(names[groups.place_of(comparison.subject)]);
  return out;
}

const std::vector<Column>& comparison_columns() {
  static const std::vector<Column> all{
      {.title = "Verdict", .key = "verdict"},
      {.title = "Cell", .key = "cell"},
      {.title = "Metric", .key = "metric"},
      {.title = "Now", .key = "current", .align = Align::right},
      {.title = "Baseline", .key = "baseline", .align = Align::right},
      {.title = "Change", .key = "ratio", .align = Align::right},
      {.title = "95 % interval", .key = "", .align = Align::right, .audience = Audience::people},
      {.title = "Runs", .key = "", .align = Align::right, .audience = Audience::people},
      {.title = "Ratio from", .key = "ratio_low", .audience = Audience::programs},
      {.title = "Ratio to", .key = "ratio_high", .audience = Audience::programs},
      {.title = "Runs now", .key = "current_runs", .audience = Audience::programs},
      {.title = "Runs of the baseline", .key = "baseline_runs", .audience = Audience::programs},
      {.title = "Reason", .key = "reason", .audience = Audience::programs},
      {.title = "Detail", .key = "detail", .audience = Audience::programs},
      {.title = "Run", .key = "run_id", .audience = Audience::programs},
      {.title = "Machine", .key = "machine_fingerprint", .audience = Audience::programs},
      {.title = "Notes", .key = "notes", .audience = Audience::programs},
      {.title = "Subject", .key = "subject", .audience = Audience::programs},
      {.title = "Engine", .key = "engine_sha256", .audience = Audience::programs},
  };
  return all;
}

// A single engine needs no column of its name. A fault or a side of a comparison is always shown.
bool needs_subject_column(const std::vector<CellComparison>& comparisons, const std::vector<std::string>& subjects) {
  return std::set<std::string>(subjects.begin(), subjects.end()).size() > 1 ||
         std::any_of(comparisons.begin(), comparisons.end(), [](const CellComparison& one) {
           return !one.subject.inject.empty() || !one.subject.side.empty();
         });
}

void add_subject_column(Table& table, const std::vector<std::string>& subjects) {
  constexpr std::ptrdiff_t kBehindCell = 2;
  table.columns.insert(table.columns.begin() + kBehindCell,
                       {.title = "Subject", .key = "", .audience = Audience::people});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    auto& cells = table.rows[i].cells;
    cells.insert(cells.begin() + kBehindCell, Cell(subjects[i]));
  }
}

Row comparison_row(const CellComparison& comparison, const std::string& subject) {
  const auto& decision = comparison.decision;
  const std::string verdict(spec::enum_name(decision.verdict));
  const auto& ratio_95 = decision.ratio_95;
  const auto texts = change_texts(decision);
  return {.cells = {Cell(verdict, verdict, tone_of(decision.verdict)), comparison.label, comparison.metric,
                    amount_cell(comparison.current, comparison.metric),
                    amount_cell(comparison.baseline, comparison.metric), Cell(texts.change, value_of(decision.ratio)),
                    texts.interval, fmt::format("{} vs {}", decision.current_runs, decision.baseline_runs),
                    Cell("", ratio_95 ? Value(ratio_95->low) : Value()),
                    Cell("", ratio_95 ? Value(ratio_95->high) : Value()), Cell("", run_count(decision.current_runs)),
                    Cell("", run_count(decision.baseline_runs)), std::string(spec::enum_name(decision.reason)),
                    decision.detail, comparison.run_id, comparison.machine, Cell("", comparison.notes), subject,
                    comparison.subject.engine_sha256},
          .notes = notes_of(comparison)};
}

Json entry(const CellComparison& comparison, const std::string& subject) {
  const auto& decision = comparison.decision;
  Json out;
  out["cell"] = comparison.label;
  out["subject"] = subject;
  out["engine_sha256"] = comparison.subject.engine_sha256.empty() ? Json() : Json(comparison.subject.engine_sha256);
  out["run_id"] = comparison.run_id;
  out["metric"] = comparison.metric;
  out["machine_fingerprint"] = comparison.machine.empty() ? Json() : Json(comparison.machine);
  out["verdict"] = spec::enum_name(decision.verdict);
  out["reason"] = spec::enum_name(decision.reason);
  out["detail"] = decision.detail;
  out["current"] = or_null(comparison.current);
  out["baseline"] = or_null(comparison.baseline);
  out["ratio"] = or_null(decision.ratio);
  out["ratio_low"] = decision.ratio_95 ? Json(decision.ratio_95->low) : Json();
  out["ratio_high"] = decision.ratio_95 ? Json(decision.ratio_95->high) : Json();
  out["p"] = or_null(decision.p);
  out["detectable_fraction"] = or_null(decision.detectable_fraction);
  out["current_runs"] = decision.current_runs;
  out["baseline_runs"] = decision.baseline_runs;
  out["sessions"] = decision.sessions ? Json(*decision.sessions) : Json();
  out["session_deviation_fraction"] =
      decision.session_deviation ? Json(std::expm1(*decision.session_deviation)) : Json();
  out["notes"] = comparison.notes;
  return out;
}

std::string comparison_json(const std::vector<CellComparison>& comparisons, const std::string& baseline) {
  Json out;
  out["baseline"] = baseline;
  out["overall"] = spec::enum_name(harness::overall(harness::verdicts_of(comparisons)));
  out["cells"] = Json::array();
  const auto subjects = subjects_of(comparisons);
  for (std::size_t i = 0; i < comparisons.size(); ++i) out["cells"].push_back(entry(comparisons[i], subjects[i]));
  return json_text(out, 2);
}

std::vector<Judged> judged_comparisons(const std::vector<CellComparison>& comparisons) {
  std::vector<Judged> out;
  for (const auto& one : comparisons) {
    out.push_back(judged(one.label, one.metric, one.decision));
    if (one.margin_fraction > 0) out.back().margin_fraction = one.margin_fraction;
  }
  return out;
}

}  // namespace

Document comparison_document(const std::vector<CellComparison>& comparisons, const std::string& baseline) {
  Document out;
  out.add(Heading{.text = "Comparison with " + baseline});
  const auto judged = judged_comparisons(comparisons);
  out.add(headline(harness::overall(harness::verdicts_of(comparisons)), judged));
  out.add(verdict_cards(judged));
  const auto subjects = subjects_of(comparisons);
  Table table{.key = "cells", .columns = comparison_columns(), .rows = {}};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    table.rows.push_back(comparison_row(comparisons[i], subjects[i]));
  }
  if (needs_subject_column(comparisons, subjects)) add_subject_column(table, subjects);
  if (auto chart = decisions_chart(judged, "Compared with " + baseline + ", with 95 % intervals");
      !chart.series.empty()) {
    out.add(std::move(chart));
  }
  out.add(std::move(table));
  out.json = [=] { return comparison_json(comparisons, baseline); };
  return out;
}

}  // namespace perfbench::reports
