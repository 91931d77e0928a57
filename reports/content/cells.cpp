#include "reports/content/cells.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "harness/matrix/matrix.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict) {
  switch (verdict) {
    case harness::Verdict::regressed:
      return Tone::bad;
    case harness::Verdict::improved:
      return Tone::good;
    case harness::Verdict::inconclusive:
    case harness::Verdict::not_comparable:
      return Tone::doubtful;
    case harness::Verdict::same:
      break;
  }
  return Tone::plain;
}

Colour colour_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return Colour::good;
    case Tone::bad:
      return Colour::bad;
    case Tone::doubtful:
      return Colour::doubtful;
    case Tone::plain:
      break;
  }
  return Colour::plain;
}

std::string first_digits(const std::string& id) {
  constexpr std::size_t kDigits = 12;
  return id.substr(0, kDigits);
}

Cell id_cell(const std::string& id) {
  if (id.empty()) return {kNothing, Value()};
  return {first_digits(id), Value(id)};
}

Cell count_cell(std::int64_t value) {
  return {std::to_string(value), Value(value)};
}

Cell number_cell(const std::optional<double>& value) {
  if (!value) return {kNothing, Value()};
  return {format_number(*value), Value(*value)};
}

Cell bytes_cell(std::int64_t bytes) {
  if (bytes == 0) return {kNothing, Value()};
  return {human_bytes(bytes), Value(bytes)};
}

Cell amount_cell(const std::optional<double>& value, const std::string& metric) {
  return {value ? format_amount(*value, spec::unit_of(metric)) : kNothing, value_of(value)};
}

std::vector<std::pair<std::string, std::string>> label_axes(const std::string& label) {
  std::istringstream words(label);
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string word; words >> word;) {
    const auto end = word.find('=');
    if (end == std::string::npos) return {};
    out.emplace_back(word.substr(0, end), word.substr(end + 1));
  }
  return out;
}

std::string short_label(const std::string& label, std::string_view left_out) {
  const auto axes = label_axes(label);
  if (axes.empty()) return harness::shown_label(label);
  std::map<std::string, int> uses;
  for (const auto& [name, value] : axes) ++uses[value];
  std::string out;
  for (const auto& [name, value] : axes) {
    if (name == left_out) continue;
    const bool is_number = !value.empty() && value.front() >= '0' && value.front() <= '9';
    const bool says_too_little = value.empty() || is_number || value == "true" || value == "false" || uses[value] > 1;
    if (!out.empty()) out += ' ';
    out += says_too_little ? name + "=" + value : value;
  }
  return out;
}

std::map<std::string, std::string> short_labels(const std::vector<std::string>& labels) {
  std::map<std::string, std::set<std::string>> users;
  for (const auto& label : labels) users[short_label(label)].insert(label);
  std::map<std::string, std::string> out;
  for (const auto& [text, same] : users) {
    for (const auto& label : same) out[label] = same.size() == 1 ? text : harness::shown_label(label);
  }
  return out;
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

void show_seconds_in_units(Table& table) {
  constexpr std::string_view kSeconds = "(s)";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    auto& title = table.columns[i].title;
    std::optional<double> smallest;
    for (const auto& row : table.rows) {
      if (const auto value = as_number(row.cells[i].value)) smallest = std::min(smallest.value_or(*value), *value);
    }
    if (!title.ends_with(kSeconds) || !smallest) continue;
    const auto unit = shown_unit("s", *smallest);
    title.replace(title.size() - kSeconds.size(), kSeconds.size(), "(" + unit.name + ")");
    for (auto& row : table.rows) {
      auto& cell = row.cells[i];
      if (const auto value = as_number(cell.value)) cell.text = format_number(*value * unit.factor);
    }
  }
}

}  // namespace perfbench::reports
