#include "engine/faults/fault_text.h"

#include <charconv>

#include "engine/core/error.h"

namespace perfbench::engine {

FaultText::FaultText(std::string_view text) : text_(text) {
  const auto colon = text.find(':');
  kind_ = text.substr(0, colon);
  if (colon == std::string_view::npos) return;
  auto rest = text.substr(colon + 1);
  while (true) {
    const auto comma = rest.find(',');
    const auto entry = rest.substr(0, comma);
    const auto equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos) fail("expected key=value, found '" + std::string(entry) + "'");
    if (!values_.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second) {
      fail("'" + std::string(entry.substr(0, equals)) + "' is given twice");
    }
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

void FaultText::fail(const std::string& what) const {
  throw BadInput("--inject " + text_ + ": " + what);
}

std::string FaultText::take(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) fail("'" + key + "' is missing");
  auto value = std::move(found->second);
  values_.erase(found);
  return value;
}

double FaultText::take_number(const std::string& key) {
  const auto text = take(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e9) {
    fail(key + " is '" + text + "', expected a number from 0 to 1e9");
  }
  return value;
}

double FaultText::take_number(const std::string& key, double otherwise) {
  return values_.contains(key) ? take_number(key) : otherwise;
}

void FaultText::finish() const {
  if (!values_.empty()) fail("unknown key '" + values_.begin()->first + "'");
}

}  // namespace perfbench::engine
