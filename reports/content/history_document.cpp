#include "reports/content/history_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "harness/stats/screen.h"
#include "reports/content/alert_document.h"
#include "reports/content/cells.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "reports/render/format/sparkline.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

using harness::ScreenedSeries;
using harness::ScreenState;

namespace {

constexpr std::size_t kScoredSeries =
    8;  // for the first series and all that shifted, because the score of each night takes microseconds

std::string key_of(const char* what, const ScreenedSeries& series) {
  const auto& of = series.series;
  return std::string(what) + "_" + of.metric + " " + of.matrix + " " + of.cell + " " + of.machine;
}

std::string series_title(const ScreenedSeries& series) {
  return series.series.matrix + " " + series.series.cell + (series.is_control ? " (the control)" : "");
}

double place(std::size_t night) {
  return static_cast<double>(night);
}

// The axis of all charts of a series: its nights in order, named by their dates.
ChartAxis nights_axis(const ScreenedSeries& series) {
  ChartAxis out{.title = "night"};
  for (const auto& night : series.nights) out.categories.push_back(night.night.started_utc.substr(0, 10));
  return out;
}

void add_spans(Chart& out, const ScreenedSeries& series) {
  std::map<std::string, double> places;  // by sweep
  for (std::size_t i = 0; i < series.nights.size(); ++i) places[series.nights[i].night.sweep_id] = place(i);
  const auto shade = [&](const harness::NightId& night, const std::string& name, bool to_the_end) {
    const auto from = places.find(night.sweep_id);
    if (from == places.end()) return;
    const double to = to_the_end ? place(series.nights.size()) - 0.5 : from->second + 0.5;
    out.spans.push_back({.name = name, .from = from->second - 0.5, .to = to});
  };
  const bool shifted = series.state == ScreenState::shifted && series.finding;
  if (shifted) shade(series.finding->first_bad, change_text(*series.finding), true);
  for (const auto& change : series.changes) shade(change.night, change_text(change), false);
}

// Uses the nights that the screen got, up to one of them.
std::optional<double> score_up_to(const std::vector<double>& logs, std::size_t end) {
  const auto found = harness::largest_shift(harness::nights_screened(std::span(logs).first(end)), {});
  if (!found) return std::nullopt;
  return found->score;
}

std::vector<double> logs_of(const ScreenedSeries& series) {
  std::vector<double> out;
  for (const auto& night : series.screened) out.push_back(night.leveled);
  return out;
}

}  // namespace

Chart series_chart(const ScreenedSeries& series, const std::string& metric) {
  Chart out{.key = key_of("series", series),
            .title = series_title(series),
            .x = nights_axis(series),
            .y = {.title = ""},
            .series = {{.name = "quiet", .points = {}}}};
  ChartSeries noisy{.name = "the machine's speed moved", .marks = Marks::points, .points = {}};
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& night = series.nights[i];
    ChartPoint point{.x = place(i), .y = night.value, .label = night.night.started_utc};
    if (!night.night.revision.empty()) point.label += ", commit " + night.night.revision;
    (night.noisy ? noisy : out.series[0]).points.push_back(std::move(point));
  }
  if (!noisy.points.empty()) out.series.push_back(std::move(noisy));
  if (series.control) {
    ChartSeries less{.name = "minus the control's drift", .marks = Marks::ideal, .points = {}};
    for (const auto& night : series.screened) {
      less.points.push_back({.x = place(night.night), .y = std::exp(night.log)});
    }
    out.series.push_back(std::move(less));
  }
  add_spans(out, series);
  show_in_unit(out, metric, spec::unit_of(metric));
  return out;
}

Chart score_chart(const ScreenedSeries& series) {
  Chart out{.key = key_of("score", series),
            .title = "Screen of " + series_title(series),
            .x = nights_axis(series),
            .y = {.title = "largest shift (standard errors)", .from_zero = true},
            .series = {{.name = "score", .points = {}}}};
  const auto logs = logs_of(series);
  auto& points = out.series[0].points;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto score = score_up_to(logs, i + 1);
    if (score) points.push_back({.x = place(series.screened[i].night), .y = *score});
  }
  // A single night has another scale.
  const bool of_that_scale = series.shift && !points.empty() && series.shift->score == points.back().y;
  if (of_that_scale) {
    out.series.push_back({.name = "threshold of the newest night",
                          .marks = Marks::ideal,
                          .points = {{.x = points.front().x, .y = series.shift->threshold},
                                     {.x = points.back().x, .y = series.shift->threshold}}});
  }
  return out;
}

std::optional<double> shift_score(const ScreenedSeries& series) {
  const auto logs = logs_of(series);
  return score_up_to(logs, logs.size());
}

std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most) {
  std::vector<const ScreenedSeries*> order;
  for (const auto& series : result.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return (a->state == ScreenState::shifted) > (b->state == ScreenState::shifted);
  });
  std::vector<Chart> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    out.push_back(series_chart(*order[i], result.metric));
    if (i >= kScoredSeries && order[i]->state != ScreenState::shifted) continue;
    if (auto scores = score_chart(*order[i]); !scores.series[0].points.empty()) out.push_back(std::move(scores));
  }
  return out;
}

namespace {

using harness::HistoryResult;
using harness::NightPoint;
using Json = nlohmann::ordered_json;

constexpr std::size_t kShownDigits = 12;
constexpr std::size_t kChartsShown = 40;

std::string result_text(const ScreenedSeries& series) {
  switch (series.state) {
    case ScreenState::too_few_nights:
      return fmt::format("too few nights ({})", series.screened.size());
    case ScreenState::shifted:
      return fmt::format("{} {} since {}", spec::enum_name(series.finding->kind), change_text(*series.finding),
                         series.finding->first_bad.started_utc.substr(0, 10));
    case ScreenState::steady:
      break;
  }
  if (series.known) return fmt::format("known since {}: {}", series.known->first_utc.substr(0, 10), series.known->told);
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

Tone series_tone(const ScreenedSeries& series) {
  switch (series.state) {
    case ScreenState::too_few_nights:
      return Tone::doubtful;
    case ScreenState::shifted:
      return harness::is_bad(series.finding->kind) ? Tone::bad : Tone::good;
    case ScreenState::steady:
      break;
  }
  return series.known ? Tone::doubtful : Tone::plain;
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

}  // namespace

Document history_document(const std::shared_ptr<const HistoryResult>& shown) {
  const auto& result = *shown;
  Document out;
  out.add(Heading{.level = 2, .text = "History of " + result.metric});
  out.add(history_headline(result));
  out.add(series_table(result));
  for (auto& chart : history_charts(result, kChartsShown)) out.add(std::move(chart));
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
  out.json = [shown] { return history_json(*shown); };
  return out;
}

}  // namespace perfbench::reports
