#include "harness/matrix/match.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace perfbench::harness {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

bool text_matches(std::string_view pattern, const std::string& text) {
  if (glob_matches(pattern, text)) return true;
  const auto left = number_in(pattern);
  return left && left == number_in(text);  // 2 and 2.0
}

bool holds(const Condition& condition, const std::vector<std::string>& texts) {
  const auto any_text_matches = [&texts](std::string_view pattern) {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return text_matches(pattern, text); });
  };
  return std::any_of(condition.patterns.begin(), condition.patterns.end(), [&](std::string_view pattern) {
    const bool negated = pattern.starts_with('!');
    return negated ? !any_text_matches(pattern.substr(1)) : any_text_matches(pattern);
  });
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last star, and the start of the text that it matches
  std::size_t run = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      run = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++run;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches(const When& when, const AxisLabels& labels, const Resolved& cell) {
  return std::all_of(when.begin(), when.end(), [&](const Condition& condition) {
    std::vector<std::string> texts;
    for (const auto& [name, label] : labels) {
      if (name == condition.name) texts.push_back(label);
    }
    if (const auto key = find_key(condition.name)) {
      texts.push_back(plain_text(cell.value_of(key->name)));
    } else if (const auto free = cell.in_force.find(condition.name); free != cell.in_force.end()) {
      texts.push_back(plain_text(free->second->value));
    }
    return holds(condition, texts);
  });
}

}  // namespace perfbench::harness
