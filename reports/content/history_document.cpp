#include "reports/content/history_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/content/cells.h"
#include "reports/content/history_charts.h"
#include "reports/content/history_small_charts.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "reports/render/format/sparkline.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

using harness::HistoryResult;
using harness::NightPoint;
using harness::ScreenedSeries;
using harness::ScreenState;
using Json = nlohmann::ordered_json;

constexpr std::size_t kShownDigits = 12;
constexpr std::size_t kChartsShown = 40;

std::string result_text(const ScreenedSeries& series) {
  switch (series.state) {
    case ScreenState::too_few_nights:
      return fmt::format("too few nights ({})", series.screened.size());
    case ScreenState::shifted:
      return fmt::format("{} {} since {}", spec::enum_name(series.finding->kind), change_text(*series.finding),
                         harness::date_of(series.finding->first_bad.started_utc));
    case ScreenState::steady:
      break;
  }
  if (series.known)
    return fmt::format("known since {}: {}", harness::date_of(series.known->first_utc), series.known->told);
  return "steady";
}

// The newest change of each series' class and of its other facts, in one line for all series that share it.
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

std::vector<double> night_values(const std::vector<NightPoint>& nights) {
  std::vector<double> out;
  for (const auto& night : nights) out.push_back(night.value);
  return out;
}

Cell number_of(const std::optional<double>& value) {
  return {format_number(value), value_of(value)};
}

Cell nights_cell(std::size_t count) {
  return {std::to_string(count), static_cast<std::int64_t>(count)};
}

Table series_table(const HistoryResult& result) {
  Table table{.key = "series",
              .columns = {{.title = "matrix", .key = "matrix"},
                          {.title = "cell", .key = "cell"},
                          {.title = "machine", .key = "machine_fingerprint"},
                          {.title = "nights", .key = "nights", .align = Align::right},
                          {.title = "trend", .key = "trend", .audience = Audience::people},
                          {.title = "last", .key = "last", .align = Align::right},
                          {.title = "change", .key = "change_ratio", .align = Align::right},
                          {.title = "screened", .key = "screened_nights", .align = Align::right},
                          {.title = "control", .key = "control_subtracted"},
                          {.title = "score", .key = "screen_score", .align = Align::right, .audience = Audience::pages},
                          {.title = "result", .key = "result"}},
              .rows = {}};
  for (const auto& series : result.series) {
    const auto last = series.nights.back().value;
    const auto found = result_text(series);
    table.rows.push_back({.cells = {series.series.matrix,
                                    series.series.cell,
                                    {series.series.machine.substr(0, kShownDigits), series.series.machine},
                                    nights_cell(series.nights.size()),
                                    {sparkline(night_values(series.nights)), Value()},
                                    {format_amount(last, spec::unit_of(result.metric)), last},
                                    {format_percent_change(series.change_ratio), series.change_ratio},
                                    nights_cell(series.screened.size()),
                                    {series.control ? "subtracted" : "no", series.control},
                                    number_of(shift_score(series)),
                                    {found, found, series_tone(series)}}});
  }
  return table;
}

Json history_night_json(const NightPoint& night) {
  return {{"sweep_id", night.night.sweep_id},
          {"started_utc", night.night.started_utc},
          {"revision", night.night.revision},
          {"subject", night.subject ? harness::subject_name(*night.subject) : ""},
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

std::string finding_text(const harness::Finding& finding) {
  const auto text = fmt::format("{}: {}, commits {}: {}", subject_text(finding), change_text(finding),
                                range_text(finding), finding.detail);
  const auto facts = facts_text(finding);
  return facts.empty() ? text : text + "; environment: " + facts;
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
               {"screened_nights", one.screened.size()},
               {"screen_score", or_null(shift_score(one))},
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
    for (const auto& night : one.nights) entry["nights"].push_back(history_night_json(night));
    out["series"].push_back(std::move(entry));
  }
  out["findings"] = Json::array();
  for (const auto& finding : result.findings()) out["findings"].push_back(finding_json(finding));
  return json_text(out, 2);
}

Headline history_headline(const HistoryResult& result) {
  const auto findings = result.findings().size();
  if (findings > 0) {
    return {.text = fmt::format("{} finding{}, not confirmed", findings, findings == 1 ? "" : "s"),
            .tone = Tone::doubtful};
  }
  const auto is_unscreened = [](const ScreenedSeries& series) { return series.state == ScreenState::too_few_nights; };
  if (std::all_of(result.series.begin(), result.series.end(), is_unscreened)) {
    return {.text = "Too few nights to judge.", .tone = Tone::doubtful};
  }
  const bool known = std::any_of(result.series.begin(), result.series.end(),
                                 [](const ScreenedSeries& series) { return series.known.has_value(); });
  return {.text = known ? "Nothing new shifted." : "Nothing shifted.", .tone = known ? Tone::doubtful : Tone::good};
}

std::string newest_night_utc(const HistoryResult& result) {
  std::string out;
  for (const auto& series : result.series) {
    if (!series.nights.empty()) out = std::max(out, series.nights.back().night.started_utc);
  }
  return out;
}

// A series that shifted, and the first few, also get a chart of scores: the score of each night takes microseconds.
void add_large_charts(Document& out, const HistoryResult& result, const std::vector<const ScreenedSeries*>& drawn) {
  constexpr std::size_t kScoredSeries = 8;
  bool is_folded = drawn.size() < 2;  // a single chart stays open
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto& series = *drawn[i];
    if (!is_folded && !has_shifted(series)) {
      out.add(Heading{.level = 2, .text = "Series that did not shift", .folded = true, .audience = Audience::pages});
      is_folded = true;
    }
    out.add(series_chart(series, result.metric));
    if (i >= kScoredSeries && series.state != ScreenState::shifted) continue;
    if (auto scores = score_chart(series); !scores.series[0].points.empty()) out.add(std::move(scores));
  }
}

}  // namespace

Document history_document(const std::shared_ptr<const HistoryResult>& shown) {
  const auto& result = *shown;
  Document out;
  out.add(Heading{.level = 2, .text = "History of " + result.metric});
  out.add_origin("Date", newest_night_utc(result));
  out.add(history_headline(result));
  const auto drawn = drawn_series(result, kChartsShown);
  if (drawn.size() > 1) out.add(history_small_charts(drawn));
  out.add(series_table(result));
  if (result.series.size() > kChartsShown) {
    out.add(Note{fmt::format("{} series, of which {} are drawn, those that shifted first.", result.series.size(),
                             kChartsShown)});
  }
  for (const auto& line : change_lines(result)) out.add(Paragraph{.text = line});
  const auto findings = result.findings();
  if (!findings.empty()) {
    out.add(Heading{.level = 2, .text = "Findings"});
    List list;
    for (const auto& finding : findings) list.items.push_back(finding_text(finding));
    out.add(std::move(list));
  }
  add_large_charts(out, result, drawn);
  out.json = [shown] { return history_json(*shown); };
  return out;
}

}  // namespace perfbench::reports
