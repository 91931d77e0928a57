#include "reports/content/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/matrix/matrix.h"
#include "harness/system/input_error.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"
#include "workloads/spec/suggest.h"

namespace perfbench::reports {
namespace {

struct HeatNumber {
  const char* title;
  bool higher_is_better;
  std::optional<double> (*value)(const ReportRow&);
  std::string (*text)(double);
};

constexpr std::array kHeatNumbers{
    HeatNumber{"MFU", true, [](const ReportRow& row) { return row.mfu_fraction; }, format_percent},
    HeatNumber{"Tokens/s/device", true, tokens_per_s_per_device, [](double value) { return human_count(value); }},
    HeatNumber{"Step time", false, [](const ReportRow& row) { return row.step_time_s; },
               [](double value) { return format_amount(value, "s"); }}};

// A measured row with the values of its axes.
struct HeatCell {
  const ReportRow* row = nullptr;
  std::map<std::string, std::string> values;
  std::vector<std::string> facts = {};  // its matrix, subject and processor, each if rows differ in it
};

std::vector<HeatCell> heat_cells(const std::vector<ReportRow>& rows) {
  std::vector<HeatCell> out;
  for (const auto& row : rows) {
    if (row.is_published || row.runs == 0) continue;
    const auto axes = label_axes(row.cell);
    out.push_back({&row, {axes.begin(), axes.end()}});
  }
  for (const auto fact : {&ReportRow::matrix, &ReportRow::subject, &ReportRow::processor}) {
    const bool differs =
        std::ranges::any_of(out, [&](const HeatCell& cell) { return cell.row->*fact != out.front().row->*fact; });
    for (auto& cell : out) {
      if (differs) cell.facts.push_back(cell.row->*fact);
    }
  }
  return out;
}

// nullptr if the rows have no number in common.
const HeatNumber* heat_number(const std::vector<HeatCell>& cells) {
  for (const auto& number : kHeatNumbers) {
    if (std::ranges::all_of(cells, [&](const HeatCell& cell) { return number.value(*cell.row).has_value(); })) {
      return &number;
    }
  }
  return nullptr;
}

// The names of the axes, in the order in which labels have them.
std::vector<std::string> axis_names(const std::vector<ReportRow>& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows) {
    for (const auto& [name, value] : label_axes(row.cell)) {
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

const std::string kModelAxis = "model";

// A map combines rows of one matrix by one subject on one processor, and rows of several models only if the model is
// one of its axes.
std::string group_of(const HeatCell& cell, const std::vector<std::string>& axes) {
  auto facts = cell.facts;
  const bool by_model = std::ranges::find(axes, kModelAxis) == axes.end() && !cell.row->model.empty();
  if (by_model) facts.insert(facts.begin(), cell.row->model);
  return fmt::format("{}", fmt::join(facts, ", "));
}

// The pairs of values that rows have, each with the group of the row.
using Pairs = std::set<std::array<std::string, 3>>;
Pairs value_pairs(const std::vector<HeatCell>& cells, const std::string& one, const std::string& other) {
  Pairs out;
  for (const auto& cell : cells) {
    const auto a = cell.values.find(one);
    const auto b = cell.values.find(other);
    if (a == cell.values.end() || b == cell.values.end()) continue;
    out.insert({group_of(cell, {one, other}), a->second, b->second});
  }
  return out;
}

bool is_grid(const Pairs& pairs) {
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> groups;
  for (const auto& [group, a, b] : pairs) {
    groups[group].first.insert(a);
    groups[group].second.insert(b);
  }
  return std::ranges::any_of(
      groups, [](const auto& one) { return one.second.first.size() > 1 && one.second.second.size() > 1; });
}

// The first two of those that are combined most often, without axes of more than kMostValues values.
// Empty: there is no grid.
std::vector<std::string> chosen_axes(const std::vector<HeatCell>& cells, const std::vector<std::string>& names) {
  constexpr std::size_t kFewest = 4;
  constexpr std::size_t kMostValues = 24;
  const auto count = [&](const std::string& name) {
    std::set<std::string> values;
    for (const auto& cell : cells) {
      if (const auto found = cell.values.find(name); found != cell.values.end()) values.insert(found->second);
    }
    return values.size();
  };
  std::vector<std::string> out;
  std::size_t most = kFewest - 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      const auto pairs = value_pairs(cells, names[i], names[j]);
      if (pairs.size() <= most || !is_grid(pairs) || std::max(count(names[i]), count(names[j])) > kMostValues) continue;
      most = pairs.size();
      out = {names[i], names[j]};
    }
  }
  return out;
}

// The values of an axis in their order: numbers by size, others as the rows have them.
std::vector<std::string> axis_values(const std::vector<const HeatCell*>& cells, const std::string& axis) {
  std::vector<std::string> out;
  for (const auto* cell : cells) {
    const auto& value = cell->values.at(axis);
    if (std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  if (std::ranges::all_of(out, [](const std::string& text) { return number_in(text).has_value(); })) {
    std::ranges::stable_sort(out, {}, [](const std::string& text) { return *number_in(text); });
  }
  return out;
}

double index_of(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<double>(std::ranges::find(values, value) - values.begin());
}

Chart heat_map(const std::vector<const HeatCell*>& cells, const HeatNumber& number,
               const std::vector<std::string>& axes) {
  Chart out{.key = "heat_map",
            .title = "",
            .x = {.title = axes[0], .categories = axis_values(cells, axes[0])},
            .y = {.title = axes[1], .categories = axis_values(cells, axes[1])},
            .series = {{.name = "", .marks = Marks::heat, .points = {}}},
            .sideways = true};
  std::map<std::pair<std::string, std::string>, std::pair<double, const ReportRow*>> best;
  for (const auto* cell : cells) {
    const double value = *number.value(*cell->row);
    const std::pair found{value, cell->row};
    const auto [at, is_new] = best.try_emplace({cell->values.at(axes[0]), cell->values.at(axes[1])}, found);
    const double known = at->second.first;
    if (!is_new && (number.higher_is_better ? value > known : value < known)) at->second = found;
  }
  double low = best.begin()->second.first;
  double high = low;
  for (const auto& [at, one] : best) {
    low = std::min(low, one.first);
    high = std::max(high, one.first);
  }
  for (const auto& [at, one] : best) {
    const auto& [value, row] = one;
    const double from_worst = number.higher_is_better ? value - low : high - value;
    const auto text = number.text(value);
    out.series[0].points.push_back({.x = index_of(out.x.categories, at.first),
                                    .y = index_of(out.y.categories, at.second),
                                    .label = fmt::format("{} {} ({})", number.title, text, row->cell),
                                    .text = text,
                                    .depth = high > low ? from_worst / (high - low) : 1});
  }
  std::ranges::stable_sort(out.series[0].points, {}, [](const ChartPoint& one) { return std::pair(one.x, one.y); });
  return out;
}

}  // namespace

void check_heat_map_axes(const std::vector<ReportRow>& rows, const std::vector<std::string>& axes) {
  constexpr const char* kOption = "[report] --heat-map";
  const auto names = axis_names(rows);
  if (axes.size() != 2 || axes[0] == axes[1]) {
    throw harness::InputError(fmt::format("{} takes two different axes, found '{}'", kOption, fmt::join(axes, ",")));
  }
  for (const auto& axis : axes) {
    if (std::ranges::find(names, axis) != names.end()) continue;
    const auto near = spec::nearest(axis, names);
    throw harness::InputError(fmt::format("{} '{}': no cell of the report has such an axis{}; its axes are: {}",
                                          kOption, axis, near ? " (did you mean '" + *near + "'?)" : "",
                                          fmt::join(names, ", ")));
  }
}

HeatMaps heat_maps(const std::vector<ReportRow>& rows, const std::vector<std::string>& axes) {
  constexpr std::size_t kMostMaps = 8;
  constexpr std::size_t kMostRows = 10'000;  // a longer report draws a map only for named axes
  HeatMaps out;
  if (axes.empty() && rows.size() > kMostRows) return out;
  const auto cells = heat_cells(rows);
  const auto* const shown_number = heat_number(cells);
  const auto chosen = axes.empty() ? chosen_axes(cells, axis_names(rows)) : axes;
  if (shown_number == nullptr) out.why_not = "the rows have no number in common";
  if (shown_number == nullptr || chosen.empty()) return out;
  std::map<std::string, std::vector<const HeatCell*>> groups;
  for (const auto& cell : cells) {
    if (cell.values.contains(chosen[0]) && cell.values.contains(chosen[1]))
      groups[group_of(cell, chosen)].push_back(&cell);
  }
  if (groups.empty()) out.why_not = fmt::format("no measured row has both {} and {}", chosen[0], chosen[1]);
  for (const auto& [group, members] : groups) {
    if (out.charts.size() == kMostMaps) {
      out.charts.back().title += fmt::format("; {} more maps are not drawn", groups.size() - kMostMaps);
      break;
    }
    auto chart = heat_map(members, *shown_number, chosen);
    const bool has_several = chart.series[0].points.size() < members.size();
    chart.title =
        fmt::format("{} by {} and {}{}{}", shown_number->title, chosen[0], chosen[1],
                    groups.size() > 1 ? " of " + group : "", has_several ? "; the best of the other axes" : "");
    if (groups.size() > 1) chart.key += fmt::format("_{}", out.charts.size() + 1);
    out.charts.push_back(std::move(chart));
  }
  return out;
}

}  // namespace perfbench::reports
