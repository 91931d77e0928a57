#include "reports/content/row_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/system/input_error.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/suggest.h"

namespace perfbench::reports {
namespace {

constexpr std::array<std::string_view, 4> kUnitEndings{"_s", "_fraction", "_bytes", "_per_s"};

struct SortBy {
  std::string name;
  std::optional<bool> descending = {};  // nullopt: the best first
};

SortBy parse_sort(const std::string& text) {
  for (const auto& [end, descending] : {std::pair{":asc", false}, std::pair{":desc", true}}) {
    if (text.ends_with(end)) return {text.substr(0, text.size() - std::string_view(end).size()), descending};
  }
  return {text};
}

bool best_is_highest(const Column& column) {
  const auto metric = spec::find_metric(column.key);
  return metric ? metric->direction == spec::Direction::higher_is_better : column.higher_is_better;
}

std::optional<double> sortable_number(const Value& value) {
  const auto number = as_number(value);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

std::string value_text(const std::string& key, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty() ? kNothing : *text;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("{}", fmt::join(*texts, "; "));
  if (const auto* said = std::get_if<bool>(&value)) return *said ? "yes" : "no";
  const auto number = as_number(value);
  if (!number) return kNothing;
  if (key.ends_with("_bytes")) return human_bytes(static_cast<std::int64_t>(*number));
  if (key.ends_with("_fraction")) return format_percent(*number);
  return std::holds_alternative<std::int64_t>(value) ? fmt::format("{}", *number) : format_number(*number);
}

// Where a cell stands in its column. Axes of a matrix are texts, also where they are numbers.
struct Place {
  std::optional<double> number;
  std::string text;
};

Place place_of(const Cell& cell, const std::string& key) {
  Place out{.number = sortable_number(cell.value), .text = cell.text.empty() ? value_text(key, cell.value) : cell.text};
  if (!out.number) out.number = number_in(out.text);
  return out;
}

// Numbers come before texts, and rows without a value last in either direction.
bool comes_before(const Place& a, const Place& b, bool descending) {
  if (a.number && b.number) return descending ? *a.number > *b.number : *a.number < *b.number;
  if (a.number || b.number) return a.number.has_value();
  const bool has_text = a.text != kNothing;
  const bool has_other = b.text != kNothing;
  if (has_text != has_other) return has_text;
  return descending ? a.text > b.text : a.text < b.text;
}

}  // namespace

std::size_t column_of(const Table& table, const std::string& option, const std::string& name) {
  std::vector<std::string> keys;
  for (const auto& column : table.columns) keys.push_back(column.key);
  const auto place = [&](const std::string& key) { return std::find(keys.begin(), keys.end(), key); };
  auto found = place(name);
  for (const auto unit : kUnitEndings) {
    if (found == keys.end()) found = place(name + std::string(unit));
  }
  if (found != keys.end()) return static_cast<std::size_t>(found - keys.begin());
  const auto near = spec::nearest(name, keys);
  throw harness::InputError(fmt::format("[report] {} '{}': the report has no such column{}; its columns are: {}",
                                        option, name, near ? " (did you mean '" + *near + "'?)" : "",
                                        fmt::join(keys, ", ")));
}

std::vector<std::size_t> chosen_rows(const Table& table, const RowChoice& choice) {
  std::vector<std::size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (!choice.sort.empty()) {
    const auto by = parse_sort(choice.sort);
    const auto column = column_of(table, "--sort", by.name);
    const bool descending = by.descending.value_or(best_is_highest(table.columns[column]));
    std::vector<Place> places;
    for (const auto& row : table.rows) places.push_back(place_of(row.cells[column], table.columns[column].key));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return comes_before(places[a], places[b], descending); });
  }
  if (choice.best > 0 && choice.best < rows.size()) rows.resize(choice.best);
  return rows;
}

Table with_columns(const Table& table, const RowChoice& choice, Audience reader) {
  Table out{.key = table.key, .columns = {}, .rows = table.rows};
  for (auto& row : out.rows) row.cells.clear();
  for (const auto& name : choice.columns) {
    const auto column = column_of(table, "--columns", name);
    const auto& key = table.columns[column].key;
    out.columns.push_back(table.columns[column]);
    out.columns.back().audience = reader;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      auto cell = table.rows[i].cells[column];
      if (cell.text.empty()) cell.text = value_text(key, cell.value);
      if (as_number(cell.value)) out.columns.back().align = Align::right;
      out.rows[i].cells.push_back(std::move(cell));
    }
  }
  return out;
}

}  // namespace perfbench::reports
