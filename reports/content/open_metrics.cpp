#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/stats/statistics.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/system/utc.h"
#include "reports/content/data_exports.h"
#include "reports/render/format/shown.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

using harness::CellRuns;
using Labels = std::vector<std::pair<std::string_view, std::string>>;

constexpr std::size_t kDigits = 12;  // of ids, which are long

// Escapes backslash, quote and line end, as section 3.1 of the format says; it has no other escapes. Bytes that are not
// UTF-8 become U+FFFD.
std::string escaped_label(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto point = code_point_at(text, at);
    if (point.bytes == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    if (text[at] == '\n') {
      out += "\\n";
    } else {
      if (text[at] == '\\' || text[at] == '"') out += '\\';
      out += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

std::string labels_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels)
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped_label(value));
  return "{" + out + "}";
}

// A family of gauges, whose samples follow each other as the format wants.
class Family {
 public:
  Family(std::string name, std::string unit, std::string help)
      : name_(std::move(name)), unit_(std::move(unit)), help_(std::move(help)) {}

  void add(const Labels& labels, double value) {
    samples_ += fmt::format("{}{} {}\n", name_, labels_text(labels), value);
  }

  // Nothing for a family without samples.
  std::string text() const {
    if (samples_.empty()) return {};
    auto out = fmt::format("# TYPE {} gauge\n", name_);
    if (!unit_.empty()) out += fmt::format("# UNIT {} {}\n", name_, unit_);
    return out + fmt::format("# HELP {} {}\n", name_, escaped_label(help_)) + samples_;
  }

 private:
  std::string name_;
  std::string unit_;
  std::string help_;
  std::string samples_;
};

// Names end in the unit, written out as the format recommends.
struct WrittenUnit {
  std::string_view unit;    // of the catalog
  std::string_view suffix;  // of its tags
  std::string_view written;
};
constexpr std::array kUnits{WrittenUnit{"s", "_s", "seconds"}, WrittenUnit{"bytes", "_bytes", "bytes"},
                            WrittenUnit{"fraction", "_fraction", "ratio"}, WrittenUnit{"nats", "", "nats"},
                            WrittenUnit{"J", "_j", "joules"}};

Family family_of(const spec::MetricSpec& metric) {
  std::string name(metric.tag);
  std::string unit;
  for (const auto& [of_catalog, suffix, written] : kUnits) {
    if (metric.unit != of_catalog || !name.ends_with(suffix)) continue;
    name.resize(name.size() - suffix.size());
    name += "_" + std::string(written);
    unit = written;
  }
  if (const auto rate = name.find("_per_s"); metric.unit == "1/s" && rate != std::string::npos) {
    name.replace(rate, std::string_view("_per_s").size(), "_per_second");
  }
  auto help = std::string(metric.description);
  if (metric.direction == spec::Direction::lower_is_better) help += "; lower is better";
  if (metric.direction == spec::Direction::higher_is_better) help += "; higher is better";
  return {"perfbench_" + name, unit, std::move(help)};
}

// Since 1970, of a text such as 2026-01-31T12:00:00Z; nullopt for any other text.
std::optional<std::int64_t> epoch_seconds(const std::string& utc) {
  const auto days = harness::day_number(utc);
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!days || std::sscanf(utc.c_str(), "%*10cT%2d:%2d:%2d", &hour, &minute, &second) != 3) return std::nullopt;
  return *days * 86400 + hour * 3600 + minute * 60 + second;
}

Labels labels_of(const CellRuns& cell) {
  return {{"matrix", cell.matrix},
          {"cell", cell.label},
          {"run", cell.run_id.substr(0, kDigits)},
          {"machine", cell.machine().substr(0, kDigits)}};
}

// One group for each cell on a machine: the last one, if several subjects were measured.
std::vector<CellRuns> newest_cells(const harness::Connection& db) {
  std::map<std::string, CellRuns> by_labels;
  for (const auto& [matrix, sweep_id] : harness::newest_sweeps(db)) {
    const auto chosen = harness::choose_attempts(db, {.kind = harness::SelectionKind::sweep, .id = sweep_id});
    for (auto& cell : harness::split_by_machine(harness::group_by_subject(chosen.attempts))) {
      by_labels[labels_text(labels_of(cell))] = std::move(cell);
    }
  }
  std::vector<CellRuns> out;
  for (auto& [labels, cell] : by_labels) out.push_back(std::move(cell));
  return out;
}

void add_metric(const spec::MetricSpec& metric, const std::vector<CellRuns>& cells, std::string& out) {
  auto family = family_of(metric);
  for (const auto& cell : cells) {
    std::vector<double> values;
    for (const auto* attempt : cell.finished()) {
      const auto found = attempt->metrics.find(std::string(metric.tag));
      if (found != attempt->metrics.end()) values.push_back(found->second);
    }
    if (!values.empty()) family.add(labels_of(cell), harness::median(std::move(values)));
  }
  out += family.text();
}

void add_states(const std::vector<CellRuns>& cells, std::string& out) {
  Family runs("perfbench_cell_runs", "", "runs of the cell in the newest sweep of its matrix, by their end");
  for (const auto& cell : cells) {
    std::map<harness::AttemptState, int> states;
    for (const auto& attempt : cell.attempts) ++states[attempt.state];
    for (const auto& [state, count] : states) {
      auto labels = labels_of(cell);
      labels.emplace_back("state", spec::enum_name(state));
      runs.add(labels, count);
    }
  }
  out += runs.text();
}

void add_times(const std::vector<CellRuns>& cells, std::string& out) {
  Family times("perfbench_cell_measured_timestamp_seconds", "seconds",
               "when the cell was last measured, in seconds since 1970, and at which commit");
  for (const auto& cell : cells) {
    const auto& newest = cell.attempts.back();
    const auto seconds = epoch_seconds(newest.started_utc);
    if (!seconds) continue;
    auto labels = labels_of(cell);
    labels.emplace_back("commit", cell.subject.git_commit);
    labels.emplace_back("sweep", newest.sweep_id);
    times.add(labels, static_cast<double>(*seconds));
  }
  out += times.text();
}

void add_alerts(const harness::Connection& db, std::string& out) {
  Family alerts("perfbench_alerts", "", "live alerts of the matrix, by their state");
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const auto& alert : harness::load_alerts(db, harness::AlertScope::live)) {
    ++counts[{alert.finding.series.matrix, std::string(spec::enum_name(alert.state()))}];
  }
  for (const auto& [of, count] : counts) alerts.add({{"matrix", of.first}, {"state", of.second}}, count);
  out += alerts.text();
}

}  // namespace

std::string open_metrics(const harness::Connection& db) {
  const auto cells = newest_cells(db);
  std::string out;
  for (const auto& metric : spec::kMetricCatalog) add_metric(metric, cells, out);
  add_states(cells, out);
  add_times(cells, out);
  add_alerts(db, out);
  return out + "# EOF\n";
}

}  // namespace perfbench::reports
