#include "reports/content/overview_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "harness/stats/statistics.h"
#include "reports/content/alert_document.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"
#include "reports/render/format/sparkline.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

constexpr int kLevel = 2;  // of a section

Headline alerts_headline(const std::vector<harness::Alert>& alerts) {
  const auto open =
      std::ranges::count_if(alerts, [](const auto& alert) { return alert.state() == harness::AlertState::open; });
  if (alerts.empty()) return {.text = "No alert is live.", .tone = Tone::good};
  return {
      .text = fmt::format("{} live alert{}, {} not acknowledged.", alerts.size(), alerts.size() == 1 ? "" : "s", open),
      .tone = open > 0 ? Tone::bad : Tone::doubtful};
}

Cards cards_of_nights(const std::vector<harness::NightAnswer>& nights) {
  constexpr std::size_t kMost = 8;
  Cards out;
  for (const auto& night : nights) {
    if (out.cards.size() == kMost) break;
    out.cards.push_back({.title = "newest night of " + night.matrix,
                         .value = std::string(spec::enum_name(night.verdict)),
                         .detail = night.made_utc.substr(0, 10),
                         .tone = night.verdict == harness::Verdict::same ? Tone::good : tone_of(night.verdict)});
  }
  return out;
}

Table running_table(const std::vector<harness::RunningSweep>& running) {
  Table out{.key = "running",
            .columns = {{.title = "sweep", .key = "sweep_id"},
                        {.title = "matrix", .key = "matrix"},
                        {.title = "finished", .key = "finished", .align = Align::right},
                        {.title = "about left", .key = "left_s", .align = Align::right},
                        {.title = "running", .key = "cell"},
                        {.title = "since", .key = "sign_utc"}},
            .rows = {}};
  for (const auto& sweep : running) {
    const bool is_known = sweep.left_s >= 0;
    out.rows.push_back(
        {.cells = {sweep.sweep_id,
                   sweep.matrix,
                   {fmt::format("{} of {}", sweep.finished, sweep.attempts), sweep.finished},
                   {is_known ? format_duration(sweep.left_s) : kNothing, is_known ? Value(sweep.left_s) : Value()},
                   {short_label(sweep.cell), sweep.cell},
                   sweep.sign_utc}});
  }
  return out;
}

// The nights of a series on the machine of its newest night, and how that night compares with the others.
struct Recent {
  const harness::SeriesHistory* series = nullptr;
  std::vector<double> values;   // oldest first
  std::optional<double> ratio;  // of the newest value to the median of the others
};

std::optional<Recent> recent_of(const harness::SeriesHistory& series) {
  if (series.is_control || series.nights.empty()) return std::nullopt;
  Recent out{.series = &series};
  for (const auto& night : series.nights) {
    if (night.machine == series.nights.back().machine) out.values.push_back(night.value);
  }
  if (out.values.size() > 1) {
    out.ratio = out.values.back() / harness::median({out.values.begin(), out.values.end() - 1});
  }
  return out;
}

double size_of_change(const Recent& recent) {
  return recent.ratio ? std::abs(std::log(*recent.ratio)) : -1;
}

// Columns of numbers say which nights they are about in the title of the section.
void add_series(Document& out, const std::vector<harness::SeriesHistory>& history) {
  constexpr std::size_t kMost = 8;
  std::vector<Recent> recent;
  for (const auto& series : history) {
    if (auto one = recent_of(series)) recent.push_back(std::move(*one));
  }
  if (recent.empty()) return;
  std::ranges::stable_sort(recent, std::greater<>(), size_of_change);
  Table table{.key = "series",
              .columns = {{.title = "cell", .key = "cell"},
                          {.title = "matrix", .key = "matrix"},
                          {.title = "newest night", .key = "started_utc"},
                          {.title = "step time", .key = "value", .align = Align::right},
                          {.title = "change", .key = "ratio", .align = Align::right},
                          {.title = "nights", .key = "nights"}},
              .rows = {}};
  for (const auto& one : recent) {
    if (table.rows.size() == kMost) break;
    const auto& series = *one.series;
    const auto& newest = series.nights.back();
    table.rows.push_back({.cells = {{short_label(series.cell), series.cell},
                                    series.matrix,
                                    newest.night.started_utc,
                                    amount_cell(newest.value, series.metric),
                                    {one.ratio ? format_percent_change(*one.ratio) : kNothing, value_of(one.ratio)},
                                    {sparkline(one.values), static_cast<std::int64_t>(one.values.size())}}});
  }
  out.add(Heading{.level = kLevel, .text = "Series that changed most"});
  const auto left_out = recent.size() - table.rows.size();
  out.add(std::move(table));
  out.add(Note{fmt::format("The change is that of the newest night from the median of the others in its row.{}",
                           left_out > 0 ? fmt::format(" {} more series are in the history.", left_out) : "")});
}

}  // namespace

Document overview_document(const Overview& overview) {
  Document out;
  out.add(Heading{.level = 1, .text = overview.name});
  out.add(alerts_headline(overview.live_alerts));
  if (!overview.nights.empty()) out.add(cards_of_nights(overview.nights));
  if (!overview.live_alerts.empty()) add_alerts(out, harness::group_by_range(overview.live_alerts), kLevel);
  if (!overview.running.empty()) {
    out.add(Heading{.level = kLevel, .text = "Running sweeps"});
    out.add(running_table(overview.running));
  }
  add_series(out, overview.history);
  return out;
}

}  // namespace perfbench::reports
