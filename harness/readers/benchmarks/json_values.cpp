#include "harness/readers/benchmarks/json_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "workloads/spec/fields_json.h"

namespace perfbench::readers {

using spec::Json;

void refuse(std::string_view name, const std::string& what) {
  throw spec::SpecError(name.empty() ? "" : "/" + std::string(name), what);
}

std::optional<double> as_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> number_of_text(const Json& value) {
  if (!value.is_string()) return as_number(value);
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const Json* member_of(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> number_in(const Json& object, std::string_view name) {
  const auto* value = member_of(object, name);
  return value == nullptr ? std::nullopt : as_number(*value);
}

double wanted_number(const Json& object, std::string_view name) {
  const auto* value = member_of(object, name);
  if (value == nullptr) refuse(name, "there is no such number");
  const auto number = as_number(*value);
  if (!number) refuse(name, "found " + spec::shown(*value) + " where a number is needed");
  return *number;
}

std::string text_in(const Json& object, std::string_view name) {
  const auto* value = member_of(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::string wanted_text(const Json& object, std::string_view name) {
  const auto* value = member_of(object, name);
  if (value == nullptr) refuse(name, "there is no such text");
  if (!value->is_string()) refuse(name, "found " + spec::shown(*value) + " where a text is needed");
  return value->get<std::string>();
}

std::int64_t count_in(const Json& object, std::string_view name) {
  constexpr double kLargest = 9'007'199'254'740'992;  // 2^53
  const auto* value = member_of(object, name);
  const auto number = value == nullptr ? std::nullopt : number_of_text(*value);
  return number && *number >= 0 && *number <= kLargest ? static_cast<std::int64_t>(*number) : 0;
}

std::vector<double> numbers_in(const Json& object, std::string_view name) {
  std::vector<double> out;
  const auto* list = member_of(object, name);
  if (list == nullptr) return out;
  if (!list->is_array()) refuse(name, "found " + spec::shown(*list) + " where a list of numbers is needed");
  for (const auto& value : *list) {
    const auto number = as_number(value);
    if (!number) refuse(name, "found " + spec::shown(value) + " where a number is needed");
    out.push_back(*number);
  }
  return out;
}

bool flag_in(const Json& object, std::string_view name) {
  const auto* value = member_of(object, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string parameter_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : spec::json_line(value);
}

void read_pieces(const BenchmarkSource& source, const std::vector<std::string>& patterns,
                 const std::function<void(spec::JsonPiece)>& take) {
  const auto checked = [&take](spec::JsonPiece piece) {
    try {
      take(std::move(piece));
    } catch (const Json::exception&) {
      throw spec::SpecError("", "it does not have the form that this format has here");
    }
  };
  try {
    spec::read_json_pieces(source.bytes, patterns, checked);
  } catch (const spec::PieceError& e) {
    throw BenchmarkError(e.line(), e.text());
  }
}

double seconds_of(std::string_view unit, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"seconds", 1}}};
  const auto* const found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (found == kUnits.end()) refuse(name, "unknown unit of time '" + std::string(unit) + "'; known are ns, us, ms, s");
  return found->second;
}

bool is_commit(std::string_view text) {
  constexpr std::size_t kShortest = 7;
  constexpr std::size_t kLongest = 64;
  return text.size() >= kShortest && text.size() <= kLongest &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace perfbench::readers
