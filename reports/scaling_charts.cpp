#include "reports/scaling_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "reports/format/number.h"

namespace perfbench::reports {
namespace {

// What a row is, by name. A chart is along one of these; mesh axes and a device's share of the batch follow from
// others.
using Facts = std::map<std::string, std::string>;

Facts chart_facts(const ReportRow& row) {
  Facts out{{"", row.is_published ? "published" : ""},
            {"subject", row.subject},
            {"processor", row.processor},
            {"precision", row.precision},
            {"attention", row.attention},
            {"remat", row.remat},
            {"scan", row.scan ? (*row.scan ? "on" : "off") : ""}};
  for (const auto& [field, value] : row.varied) {
    if (!field.starts_with("model.") && !field.starts_with("mesh.") && field != "global_batch" && field != "seq_len") {
      out[field] = value;
    }
  }
  return out;
}

struct Axis {
  const char* key;
  const char* title;
  double (*value)(const ReportRow&);
  // What must be alike beside the facts.
  std::vector<std::pair<const char*, double (*)(const ReportRow&)>> kept;
  enum class Ideal { none, by_devices, constant } ideal = Ideal::none;
};

double devices(const ReportRow& row) {
  return static_cast<double>(row.devices);
}
double batch(const ReportRow& row) {
  return static_cast<double>(row.global_batch);
}
double length(const ReportRow& row) {
  return static_cast<double>(row.seq_len);
}
double size(const ReportRow& row) {
  return static_cast<double>(row.parameters);
}
double per_device(const ReportRow& row) {
  return row.batch_per_device;
}

const std::vector<Axis>& axes() {
  static const std::vector<Axis> kAxes{
      {"devices",
       "devices, the same batch",
       devices,
       {{"batch", batch}, {"sequence", length}},
       Axis::Ideal::by_devices},
      {"devices_per_batch",
       "devices, the same batch on each",
       devices,
       {{"sequences per device", per_device}, {"sequence", length}},
       Axis::Ideal::constant},
      {"batch", "sequences of a step", batch, {{"devices", devices}, {"sequence", length}}},
      {"seq_len", "tokens of a sequence", length, {{"devices", devices}, {"batch", batch}}},
      {"parameters", "parameters of the model", size, {{"devices", devices}, {"sequence", length}}},
  };
  return kAxes;
}

struct Measure {
  const char* key;
  const char* title;
  std::optional<double> (*value)(const ReportRow&);
};

const std::vector<Measure>& measures() {
  static const std::vector<Measure> kMeasures{
      {"step_time", "step time (s)", [](const ReportRow& row) { return row.step_time_s; }},
      {"mfu", "MFU (%)",
       [](const ReportRow& row) { return row.mfu_fraction ? std::optional(*row.mfu_fraction * 100) : std::nullopt; }}};
  return kMeasures;
}

// Rows that differ along the axis alone, as far as these facts say.
std::map<Facts, std::vector<const ReportRow*>> lines_along(const Axis& axis, const std::vector<ReportRow>& rows) {
  std::map<Facts, std::vector<const ReportRow*>> out;
  for (const auto& row : rows) {
    if (!row.step_time_s || axis.value(row) <= 0) continue;
    auto facts = chart_facts(row);
    for (const auto& [name, value] : axis.kept) facts[name] = format_ratio(value(row));
    // Models of one size are told apart where size is not what the chart is about.
    if (axis.value != size) facts["model"] = row.model;
    out[facts].push_back(&row);
  }
  std::erase_if(out, [&](const auto& line) {
    std::set<double> different;
    for (const auto* row : line.second) different.insert(axis.value(*row));
    return different.size() < 2;
  });
  for (auto& [facts, line] : out) {
    std::stable_sort(line.begin(), line.end(),
                     [&](const auto* a, const auto* b) { return axis.value(*a) < axis.value(*b); });
  }
  return out;
}

// The facts in which it differs from other lines.
std::string name_of(const Facts& facts, const std::map<Facts, std::vector<const ReportRow*>>& lines) {
  std::string out;
  for (const auto& [name, value] : facts) {
    const bool tells = std::any_of(lines.begin(), lines.end(), [&, &fact = name, &mine = value](const auto& other) {
      const auto found = other.first.find(fact);
      return found == other.first.end() || found->second != mine;
    });
    if (!tells || value.empty()) continue;
    if (!out.empty()) out += ", ";
    out += name.empty() ? value : name + " " + value;
  }
  return out;
}

ChartSeries ideal_of(const Axis& axis, const ChartSeries& measured) {
  ChartSeries out{.name = "perfect scaling", .marks = Marks::ideal, .points = {}};
  const auto& first = measured.points.front();
  for (const auto& point : measured.points) {
    const double y = axis.ideal == Axis::Ideal::constant ? first.y : first.y * first.x / point.x;
    out.points.push_back({.x = point.x, .y = y});
  }
  if (!measured.name.empty()) out.name += " of " + measured.name;
  return out;
}

}  // namespace

std::vector<Chart> scaling_charts(const std::vector<ReportRow>& rows) {
  std::vector<Chart> out;
  for (const auto& axis : axes()) {
    const auto lines = lines_along(axis, rows);
    for (const auto& measure : measures()) {
      const bool is_time = measure.key == std::string("step_time");
      Chart chart{
          .key = fmt::format("scaling_{}_by_{}", measure.key, axis.key),
          .title = fmt::format("{} by {}", measure.title, axis.title),
          .x = {.title = axis.title, .scale = Scale::logarithmic},
          .y = {.title = measure.title, .scale = is_time ? Scale::logarithmic : Scale::linear, .from_zero = true},
          .series = {}};
      std::vector<ChartSeries> ideals;
      for (const auto& [facts, line] : lines) {
        ChartSeries series{.name = name_of(facts, lines), .points = {}};
        for (const auto* row : line) {
          const auto value = measure.value(*row);
          if (!value || (is_time && *value <= 0)) continue;  // has no logarithm
          ChartPoint point{.x = axis.value(*row), .y = *value, .label = row->cell};
          if (is_time && row->step_time_min_s && row->step_time_max_s && *row->step_time_min_s > 0) {
            point.low = row->step_time_min_s;
            point.high = row->step_time_max_s;
          }
          series.points.push_back(std::move(point));
        }
        if (series.points.size() < 2) continue;
        if (is_time && axis.ideal != Axis::Ideal::none) ideals.push_back(ideal_of(axis, series));
        chart.series.push_back(std::move(series));
      }
      if (chart.series.empty()) continue;
      std::move(ideals.begin(), ideals.end(), std::back_inserter(chart.series));
      out.push_back(std::move(chart));
    }
  }
  return out;
}

}  // namespace perfbench::reports
