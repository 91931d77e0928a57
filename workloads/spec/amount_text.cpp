#include "workloads/spec/amount_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace perfbench::spec {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kDurationUnits{Unit{"ms", 1e-3}, Unit{"s", 1},      Unit{"m", 60},     Unit{"min", 60},
                                    Unit{"h", 3600},  Unit{"d", 86'400}, Unit{"w", 604'800}};

constexpr std::array kSizeUnits{Unit{"b", 1},        Unit{"kb", 1e3},     Unit{"mb", 1e6},
                                Unit{"gb", 1e9},     Unit{"tb", 1e12},    Unit{"kib", 0x1p10},
                                Unit{"mib", 0x1p20}, Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}};

char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_letter(char c) {
  return lower_case(c) >= 'a' && lower_case(c) <= 'z';
}

void skip_spaces(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

// Takes the number at the start of `text`. Signs and words such as inf are not accepted.
std::optional<double> take_amount(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
  return value;
}

// Takes the letters at the start of `text`. Returns nothing if they are not a unit.
std::optional<double> take_unit(std::string_view& text, std::span<const Unit> units, bool any_case) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter);
  const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  for (const auto& unit : units) {
    const bool same = std::equal(word.begin(), word.end(), unit.name.begin(), unit.name.end(),
                                 [any_case](char a, char b) { return (any_case ? lower_case(a) : a) == b; });
    if (!same) continue;
    text.remove_prefix(word.size());
    return unit.factor;
  }
  return std::nullopt;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> parse_duration_s(std::string_view text, std::optional<double> bare_s) {
  double sum = 0;
  for (bool first = true;; first = false) {
    const auto amount = take_amount(text);
    if (!amount) return std::nullopt;
    skip_spaces(text);
    if (first && text.empty()) return bare_s ? finite(*amount * *bare_s) : std::nullopt;
    const auto unit = take_unit(text, kDurationUnits, false);
    if (!unit) return std::nullopt;
    sum += *amount * *unit;
    if (text.empty()) return finite(sum);
    skip_spaces(text);
  }
}

std::optional<double> parse_size_bytes(std::string_view text, std::optional<double> bare_bytes) {
  const auto amount = take_amount(text);
  if (!amount) return std::nullopt;
  skip_spaces(text);
  if (text.empty()) return bare_bytes ? finite(std::round(*amount * *bare_bytes)) : std::nullopt;
  const auto unit = take_unit(text, kSizeUnits, true);
  if (!unit || !text.empty()) return std::nullopt;
  return finite(std::round(*amount * *unit));
}

}  // namespace perfbench::spec
