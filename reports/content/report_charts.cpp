#include "reports/content/report_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

// The facts that identify a row, by name. A chart goes along one of them; mesh axes and a device's share of the batch
// follow from others.
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
  // Values that must be equal, in addition to the facts.
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
  const char* unit;  // as in the metric catalog
  std::optional<double> (*value)(const ReportRow&);
};

const std::vector<Measure>& measures() {
  static const std::vector<Measure> kMeasures{
      {"step_time", "step time", "s", [](const ReportRow& row) { return row.step_time_s; }},
      {"mfu", "MFU", "fraction", [](const ReportRow& row) { return row.mfu_fraction; }}};
  return kMeasures;
}

// Groups of rows that differ only along the axis, as far as these facts tell.
std::map<Facts, std::vector<const ReportRow*>> lines_along(const Axis& axis, const std::vector<ReportRow>& rows) {
  std::map<Facts, std::vector<const ReportRow*>> out;
  for (const auto& row : rows) {
    if (!row.step_time_s || axis.value(row) <= 0) continue;
    auto facts = chart_facts(row);
    for (const auto& [name, value] : axis.kept) facts[name] = format_ratio(value(row));
    // Distinguishes models of equal size, unless the chart is about size.
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

// The time of perfect scaling from the first point.
double ideal_time(const Axis& axis, const ChartPoint& first, double x) {
  return axis.ideal == Axis::Ideal::constant ? first.y : first.y * first.x / x;
}

// ", 87.1 % of perfect scaling"; empty for an axis without it.
std::string efficiency_text(const Axis& axis, const ChartPoint& first, const ChartPoint& point) {
  if (axis.ideal == Axis::Ideal::none) return {};
  return ", " + format_percent(ideal_time(axis, first, point.x) / point.y) + " of perfect scaling";
}

// The x values of a chart that has few of them: better ticks than round numbers. Empty for a chart with many.
std::vector<double> few_values(const Chart& chart) {
  constexpr std::size_t kFew = 8;
  std::set<double> values;
  for (const auto& series : chart.series) {
    for (const auto& point : series.points) values.insert(point.x);
  }
  return values.size() > kFew ? std::vector<double>() : std::vector<double>(values.begin(), values.end());
}

ChartSeries ideal_of(const Axis& axis, const ChartSeries& measured) {
  ChartSeries out{.name = "perfect scaling", .marks = Marks::ideal, .points = {}};
  for (const auto& point : measured.points) {
    out.points.push_back({.x = point.x, .y = ideal_time(axis, measured.points.front(), point.x)});
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
      Chart chart{.key = fmt::format("scaling_{}_by_{}", measure.key, axis.key),
                  .title = fmt::format("{} by {}", measure.title, axis.title),
                  .x = {.title = axis.title, .scale = Scale::logarithmic},
                  .y = {.title = "", .scale = is_time ? Scale::logarithmic : Scale::linear, .from_zero = true},
                  .series = {}};
      std::vector<ChartSeries> ideals;
      for (const auto& [facts, line] : lines) {
        ChartSeries series{.name = name_of(facts, lines), .points = {}};
        for (const auto* row : line) {
          const auto value = measure.value(*row);
          if (!value || (is_time && *value <= 0)) continue;  // has no logarithm
          ChartPoint point{.x = axis.value(*row), .y = *value, .label = harness::shown_label(row->cell)};
          if (is_time && row->step_time_min_s && row->step_time_max_s && *row->step_time_min_s > 0) {
            point.low = row->step_time_min_s;
            point.high = row->step_time_max_s;
          }
          if (!series.points.empty() && is_time) point.label += efficiency_text(axis, series.points.front(), point);
          series.points.push_back(std::move(point));
        }
        if (series.points.size() < 2) continue;
        if (is_time && axis.ideal != Axis::Ideal::none) ideals.push_back(ideal_of(axis, series));
        chart.series.push_back(std::move(series));
      }
      if (chart.series.empty()) continue;
      std::move(ideals.begin(), ideals.end(), std::back_inserter(chart.series));
      show_in_unit(chart, measure.title, measure.unit);
      chart.x.ticks = few_values(chart);
      out.push_back(std::move(chart));
    }
  }
  return out;
}

namespace {

struct Tradeoff {
  const ReportRow* row = nullptr;
  double bytes = 0;
  double tokens_per_s = 0;  // of a device
};

// Rows with both numbers, by model.
std::map<std::string, std::vector<Tradeoff>> tradeoffs(const std::vector<ReportRow>& rows) {
  std::map<std::string, std::vector<Tradeoff>> out;
  for (const auto& row : rows) {
    const auto bytes = memory_bytes(row);
    const auto rate = tokens_per_s_per_device(row);
    if (bytes && rate) out[row.model].push_back({&row, *bytes, *rate});
  }
  return out;
}

bool is_beaten(const Tradeoff& one, const std::vector<Tradeoff>& all) {
  return std::any_of(all.begin(), all.end(), [&one](const Tradeoff& other) {
    const bool is_as_good = other.bytes <= one.bytes && other.tokens_per_s >= one.tokens_per_s;
    return is_as_good && (other.bytes < one.bytes || other.tokens_per_s > one.tokens_per_s);
  });
}

}  // namespace

std::vector<Chart> memory_charts(const std::vector<ReportRow>& rows) {
  constexpr std::size_t kFewest = 3;
  const auto by_model = tradeoffs(rows);
  std::set<std::string> cells;
  double largest = 0;
  for (const auto& [model, all] : by_model) {
    for (const auto& one : all) {
      cells.insert(one.row->cell);
      largest = std::max(largest, one.bytes);
    }
  }
  if (cells.size() < kFewest) return {};
  const auto unit = shown_unit("bytes", largest);
  Chart out{.key = "memory",
            .title = "Throughput and memory; the named cells are the best trade-offs",
            .x = {.title = "memory of a device (" + unit.name + ")", .from_zero = true},
            .y = {.title = "tokens/s/device", .from_zero = true},
            .series = {}};
  for (const auto& [model, all] : by_model) {
    ChartSeries series{.name = model, .marks = Marks::points, .points = {}};
    for (const auto& one : all) {
      const auto label = harness::shown_label(one.row->cell);
      series.points.push_back({.x = one.bytes * unit.factor,
                               .y = one.tokens_per_s,
                               .label = label,
                               .text = is_beaten(one, all) ? "" : short_label(one.row->cell, "model")});
    }
    out.series.push_back(std::move(series));
  }
  return {std::move(out)};
}

}  // namespace perfbench::reports
