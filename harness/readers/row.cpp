#include "harness/readers/row.h"

#include <algorithm>

namespace perfbench::readers {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t'\"{}[]";
  const auto begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

}  // namespace

std::optional<std::int64_t> as_count(const Number& number) {
  constexpr double kLargest = 9e15;  // a double represents all integers up to this one
  if (!(number.value >= 0) || number.value > kLargest) return std::nullopt;
  return static_cast<std::int64_t>(number.value);
}

void Row::add(const Figure& what, std::string_view text) {
  if (what.role == Role::micro_last) {
    is_last_micro = !text.empty();
    return;
  }
  if (const auto number = parse_number(text)) add_value(what, *number);
}

void Row::add_value(const Figure& what, const Number& number) {
  if (what.role == Role::step || what.role == Role::rank) {
    const auto count = as_count(number);
    if (count && what.role == Role::step) step = count;
    if (count && what.role == Role::rank)
      rank = std::max(rank, *count);  // the rank of the record or of the prefix, whichever is larger
    return;
  }
  entries.push_back({what, {number.value * what.factor, number.resolution * what.factor}});
}

const Row::Entry* Row::find(Role role) const {
  const auto found = std::ranges::find(entries, role, [](const Entry& entry) { return entry.figure.role; });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<KeyedFigure> keyed_figures(std::span<const Key> keys) {
  std::vector<KeyedFigure> out;
  for (const auto& key : keys) out.push_back({key.key, figure(key.figure)});
  return out;
}

double declared_factor(const std::string& name, const spec::DeclaredMetric& metric) {
  if (const auto factor = unit_factor(metric.unit, name)) return *factor;
  std::string units;
  for (const auto& unit : known_units()) units += (units.empty() ? "" : ", ") + unit;
  throw ReaderError("metric '" + name + "' has unit '" + metric.unit +
                    "': the name of a time must end in _s, of a size in _bytes, of a share in _fraction, of a rate in "
                    "_per_s; units are " +
                    units);
}

std::vector<KeyedFigure> keyed_figures(const Settings& settings, std::string_view step) {
  std::vector<KeyedFigure> out{{step, figure("step")}};
  for (const auto& [name, metric] : settings.metrics) {
    if (metric.key.empty()) continue;
    out.push_back({metric.key, {.name = name, .metric = name, .factor = declared_factor(name, metric)}});
  }
  if (out.size() == 1) {
    throw ReaderError("a file is read by key, but no metric has a key; declare one, such as loss: {key: train/loss}");
  }
  return out;
}

void add_pairs(std::string_view text, Pairs pairs, std::span<const KeyedFigure> keys, Row& row) {
  while (!text.empty()) {
    const auto end = std::min(text.find(pairs.between), text.size());
    const auto pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = pair.rfind(pairs.equals);
    if (equals == std::string_view::npos) continue;
    const auto name = trimmed(pair.substr(0, equals));
    for (const auto& key : keys) {
      if (key.key == name) row.add(key.figure, trimmed(pair.substr(equals + 1)));
    }
  }
}

}  // namespace perfbench::readers
