#include "reports/content/overview_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/matrix/matrix.h"
#include "harness/stats/statistics.h"
#include "harness/stats/verdict.h"
#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"
#include "reports/render/format/sparkline.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

constexpr int kSectionLevel = 2;  // of a section

Headline alerts_headline(const std::vector<harness::Alert>& alerts) {
  const auto open =
      std::ranges::count_if(alerts, [](const auto& alert) { return alert.state() == harness::AlertState::open; });
  if (alerts.empty()) return {.text = "No alert is live.", .tone = Tone::good};
  return {
      .text = fmt::format("{} live alert{}, {} not acknowledged.", alerts.size(), alerts.size() == 1 ? "" : "s", open),
      .tone = open > 0 ? Tone::bad : Tone::doubtful};
}

// The machine of each night, as far as the history tells: nights that measured another metric have none.
std::map<std::string, std::string> machines_by_night(const std::vector<harness::SeriesHistory>& history) {
  std::map<std::string, std::string> out;
  for (const auto& series : history) {
    for (const auto& night : series.nights) out[night.night.sweep_id] = night.machine;
  }
  return out;
}

// A night of one machine does not answer for another machine.
void add_nights(Document& out, const Overview& overview) {
  constexpr std::size_t kMost = 8;
  constexpr std::size_t kMachineDigits = 8;
  const auto machines = machines_by_night(overview.history);
  std::map<std::string, std::set<std::string>> machines_of_matrix;
  std::vector<std::pair<harness::NightAnswer, std::string>> newest;
  for (const auto& night : overview.nights) {
    const auto found = machines.find(night.sweep_id);
    const auto machine = found == machines.end() ? "" : found->second;
    if (machines_of_matrix[night.matrix].insert(machine).second) newest.emplace_back(night, machine);
  }
  std::ranges::stable_sort(newest, [](const auto& a, const auto& b) {
    const auto [one, other] = std::pair(a.first.verdict, b.first.verdict);
    return one != other && harness::overall({one, other}) == one;
  });
  Cards cards;
  for (const auto& [night, machine] : newest) {
    if (cards.cards.size() == kMost) break;
    const bool names_machine = machines_of_matrix[night.matrix].size() > 1 && !machine.empty();
    cards.cards.push_back({.title = "newest night of " + night.matrix,
                           .value = std::string(spec::enum_name(night.verdict)),
                           .detail = harness::date_of(night.made_utc) +
                                     (names_machine ? ", machine " + machine.substr(0, kMachineDigits) : ""),
                           .tone = night.verdict == harness::Verdict::same ? Tone::good : tone_of(night.verdict)});
  }
  const auto left_out = newest.size() - cards.cards.size();
  if (!cards.cards.empty()) out.add(std::move(cards));
  if (left_out > 0) out.add(Note{fmt::format("{} more newest nights of other matrices are no worse.", left_out)});
}

void add_running(Document& out, const std::vector<harness::RunningSweep>& running) {
  if (running.empty()) return;
  Table table{.key = "running",
              .columns = {{.title = "sweep", .key = "sweep_id"},
                          {.title = "matrix", .key = "matrix"},
                          {.title = "begun", .key = "begun_utc"},
                          {.title = "finished", .key = "finished", .align = Align::right},
                          {.title = "running", .key = "cell"},
                          {.title = "since", .key = "sign_utc"},
                          {.title = "expected end", .key = "expected_end_utc"}},
              .rows = {}};
  for (const auto& sweep : running) {
    const auto& end = sweep.expected_end_utc;
    table.rows.push_back({.cells = {sweep.sweep_id,
                                    sweep.matrix,
                                    sweep.begun_utc,
                                    {fmt::format("{} of {}", sweep.finished, sweep.attempts), sweep.finished},
                                    {harness::shown_label(sweep.cell), sweep.cell},
                                    sweep.sign_utc,
                                    {end.empty() ? kNothing : end, Value(end)}}});
  }
  out.add(Heading{.level = kSectionLevel, .text = "Running sweeps"});
  out.add(std::move(table));
  out.add(Note{"Attempts of before a sweep was resumed do not count. A sweep that was killed is listed for a week."});
}

// The nights of a series on one machine, and how the newest of them compares with the others.
struct Recent {
  const harness::SeriesHistory* series = nullptr;
  std::vector<double> values;  // oldest first
  const harness::NightPoint* newest = nullptr;
  std::optional<double> ratio = {};  // of the newest value to the median of the others
};

std::vector<Recent> recent_of(const harness::SeriesHistory& series) {
  std::map<std::string, Recent> by_machine;
  for (const auto& night : series.nights) {
    auto& one = by_machine[night.machine];
    one.series = &series;
    one.values.push_back(night.value);
    one.newest = &night;
  }
  std::vector<Recent> out;
  for (auto& [machine, one] : by_machine) {
    const auto last = one.values.end() - 1;
    if (one.values.size() > 1) one.ratio = *last / harness::median({one.values.begin(), last});
    out.push_back(std::move(one));
  }
  return out;
}

// Leaves out cells that the newest night of their matrix and machine did not measure, and nights of long ago: nobody
// waits for them.
std::vector<Recent> recent_series(const std::vector<harness::SeriesHistory>& history) {
  constexpr std::int64_t kLongAgo_s = std::int64_t{30} * 24 * 3600;
  std::vector<Recent> all;
  for (const auto& series : history) {
    if (series.is_control) continue;
    for (auto& one : recent_of(series)) all.push_back(std::move(one));
  }
  const auto place = [](const Recent& one) { return std::pair(one.series->matrix, one.newest->machine); };
  std::map<std::pair<std::string, std::string>, std::int64_t> newest_s;
  std::int64_t last_s = 0;
  for (const auto& one : all) {
    auto& newest = newest_s[place(one)];
    newest = std::max(newest, one.newest->started_s);
    last_s = std::max(last_s, newest);
  }
  std::erase_if(all, [&](const Recent& one) {
    return one.newest->started_s < newest_s[place(one)] || one.newest->started_s < last_s - kLongAgo_s;
  });
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const Recent& one) { return one.ratio ? std::abs(std::log(*one.ratio)) : -1; });
  return all;
}

void add_series(Document& out, const std::vector<harness::SeriesHistory>& history) {
  constexpr std::size_t kMost = 8;
  const auto recent = recent_series(history);
  if (recent.empty()) return;
  Table table{.key = "series",
              .columns = {{.title = "cell", .key = "cell"},
                          {.title = "change", .key = "ratio", .align = Align::right},
                          {.title = "step time", .key = "value", .align = Align::right},
                          {.title = "nights", .key = "nights"},
                          {.title = "matrix", .key = "matrix"},
                          {.title = "machine", .key = "machine"},
                          {.title = "newest night", .key = "started_utc"}},
              .rows = {}};
  for (const auto& one : recent) {
    if (table.rows.size() == kMost) break;
    table.rows.push_back({.cells = {{harness::shown_label(one.series->cell), one.series->cell},
                                    {one.ratio ? format_percent_change(*one.ratio) : kNothing, value_of(one.ratio)},
                                    amount_cell(one.newest->value, one.series->metric),
                                    {sparkline(one.values), static_cast<std::int64_t>(one.values.size())},
                                    one.series->matrix,
                                    id_cell(one.newest->machine),
                                    one.newest->night.started_utc}});
  }
  const auto left_out = recent.size() - table.rows.size();
  out.add(Heading{.level = kSectionLevel, .text = "Series that changed most"});
  out.add(std::move(table));
  out.add(Note{fmt::format("The change is that of the newest night from the median of the others in its row.{}",
                           left_out > 0 ? fmt::format(" {} more series are in the history.", left_out) : "")});
}

}  // namespace

Document overview_document(const Overview& overview) {
  Document out;
  out.add(Heading{.level = 1, .text = overview.name});
  out.add(alerts_headline(overview.live_alerts));
  add_nights(out, overview);
  if (!overview.live_alerts.empty()) add_alerts(out, harness::group_by_range(overview.live_alerts), kSectionLevel);
  add_running(out, overview.running);
  add_series(out, overview.history);
  return out;
}

}  // namespace perfbench::reports
