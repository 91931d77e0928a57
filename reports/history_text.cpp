#include "reports/history_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/alert_phrases.h"
#include "reports/format/csv_field.h"
#include "reports/format/json_text.h"
#include "reports/format/markdown_table.h"
#include "reports/format/number.h"
#include "reports/format/sparkline.h"

namespace perfbench::reports {
namespace {

using harness::HistoryResult;
using harness::NightPoint;
using harness::ScreenedSeries;
using harness::ScreenState;
using Json = nlohmann::ordered_json;

constexpr std::size_t kShownDigits = 12;

std::string result_text(const ScreenedSeries& series) {
  switch (series.state) {
    case ScreenState::too_few_nights:
      return fmt::format("too few nights ({})", series.screened);
    case ScreenState::shifted:
      return fmt::format("{} {} since {}", spec::enum_name(series.finding->kind), change_text(*series.finding),
                         series.finding->first_bad.started_utc.substr(0, 10));
    case ScreenState::steady:
      break;
  }
  return "steady";
}

// The newest change of the class of each series, and of its other facts, as one line for all series that share it.
std::vector<std::string> change_lines(const HistoryResult& result) {
  std::vector<std::string> out;
  for (const auto of : {harness::ChangeOf::machine_class, harness::ChangeOf::other_facts}) {
    for (const auto& series : result.series) {
      const auto last = std::find_if(series.changes.rbegin(), series.changes.rend(),
                                     [of](const harness::MachineChange& change) { return change.of == of; });
      if (last == series.changes.rend()) continue;
      auto line = fmt::format("{}: since {} {}", series.series.matrix, last->night.started_utc, change_text(*last));
      if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
    }
  }
  return out;
}

std::vector<double> values_of(const std::vector<NightPoint>& nights) {
  std::vector<double> out;
  for (const auto& night : nights) out.push_back(night.value);
  return out;
}

// The columns of the table and of CSV.
const std::vector<std::string>& titles() {
  static const std::vector<std::string> all{"matrix", "cell",   "machine",  "nights",  "trend",
                                            "last",   "change", "screened", "control", "result"};
  return all;
}

std::vector<std::string> texts(const ScreenedSeries& series) {
  return {series.series.matrix,
          series.series.cell,
          series.series.machine.substr(0, kShownDigits),
          std::to_string(series.nights.size()),
          sparkline(values_of(series.nights)),
          format_number(series.nights.back().value),
          format_percent_change(series.change_ratio),
          std::to_string(series.screened),
          series.control ? "subtracted" : "no",
          result_text(series)};
}

MarkdownRow row_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

Json night_json(const NightPoint& night) {
  return {{"sweep_id", night.night.sweep_id},
          {"started_utc", night.night.started_utc},
          {"revision", night.night.revision},
          {"value", night.value},
          {"runs", night.runs},
          {"noisy", night.noisy}};
}

Json finding_json(const harness::Finding& finding) {
  return {{"kind", spec::enum_name(finding.kind)},
          {"matrix", finding.series.matrix},
          {"cell", finding.series.cell},
          {"run_id", finding.series.run_id},
          {"metric", finding.series.metric},
          {"machine_fingerprint", finding.series.machine},
          {"ratio", finding.ratio ? Json(*finding.ratio) : Json()},
          {"last_good", finding.last_good.sweep_id},
          {"first_bad", finding.first_bad.sweep_id},
          {"good_revision", finding.last_good.revision},
          {"bad_revision", finding.first_bad.revision},
          {"detail", finding.detail}};
}

Markdown finding_lines(const harness::Finding& finding) {
  auto out = Markdown::format("- {}: {}, commits {}: {}\n", subject_text(finding), change_text(finding),
                              range_text(finding), finding.detail);
  const auto facts = facts_text(finding);
  return facts.empty() ? out : out + Markdown::format("  environment: {}\n", facts);
}

}  // namespace

Markdown history_markdown(const HistoryResult& result) {
  auto out = Markdown::format("## History of {}\n\n", result.metric);
  std::vector<MarkdownRow> lines{row_of(titles())};
  for (const auto& series : result.series) lines.push_back(row_of(texts(series)));
  out += markdown_table(lines);
  for (const auto& line : change_lines(result)) out += Markdown::format("\n{}\n", line);
  const auto findings = result.findings();
  out += findings.empty() ? Markdown::format("\nNothing shifted.\n")
                          : Markdown::format("\n{} findings, not confirmed:\n\n", findings.size());
  for (const auto& finding : findings) out += finding_lines(finding);
  return out;
}

std::string history_csv(const HistoryResult& result) {
  std::string out;
  const auto append = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_field(cells[i]);
    out += "\n";
  };
  append(titles());
  for (const auto& series : result.series) append(texts(series));
  return out;
}

std::string history_json(const HistoryResult& result) {
  Json out;
  out["metric"] = result.metric;
  out["series"] = Json::array();
  for (const auto& one : result.series) {
    Json entry{{"matrix", one.series.matrix},
               {"cell", one.series.cell},
               {"run_id", one.series.run_id},
               {"machine_fingerprint", one.series.machine},
               {"change_ratio", one.change_ratio},
               {"screened_nights", one.screened},
               {"control_subtracted", one.control},
               {"shifted", one.state == ScreenState::shifted},
               {"enough_nights", one.state != ScreenState::too_few_nights}};
    entry["changes"] = Json::array();
    for (const auto& change : one.changes) {
      Json facts = Json::array();
      for (const auto& fact : change.facts) {
        facts.push_back({{"fact", fact.field}, {"before", fact.left}, {"after", fact.right}});
      }
      entry["changes"].push_back({{"started_utc", change.night.started_utc},
                                  {"new_segment", change.of == harness::ChangeOf::machine_class},
                                  {"facts", std::move(facts)}});
    }
    entry["nights"] = Json::array();
    for (const auto& night : one.nights) entry["nights"].push_back(night_json(night));
    out["series"].push_back(std::move(entry));
  }
  out["findings"] = Json::array();
  for (const auto& finding : result.findings()) out["findings"].push_back(finding_json(finding));
  return json_text(out, 2);
}

}  // namespace perfbench::reports
