#include "harness/matrix/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace perfbench::harness {
namespace {

using Json = nlohmann::json;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return n;
}

enum class Shape { text, whole_number, decimal };

// [-+]?(0|[1-9][0-9]*) and [-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)? with at least one digit before the
// exponent.
Shape number_shape(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t whole = count_digits(text);
  if (whole > 1 && text[0] == '0') return Shape::text;
  text.remove_prefix(whole);
  if (text.empty()) return whole > 0 ? Shape::whole_number : Shape::text;
  std::size_t fraction = 0;
  if (text[0] == '.') {
    text.remove_prefix(1);
    fraction = count_digits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return Shape::text;
  if (text.empty()) return Shape::decimal;
  if (text[0] != 'e' && text[0] != 'E') return Shape::text;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t exponent = count_digits(text);
  return exponent > 0 && exponent == text.size() ? Shape::decimal : Shape::text;
}

bool is_not_finite(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text == ".nan" || text == ".NaN" || text == ".NAN" || text == ".inf" || text == ".Inf" || text == ".INF";
}

// `plain` has the shape of a number; std::from_chars takes no '+'.
Json parse_number(const std::string& plain, Shape shape) {
  const char* first = plain.data() + (plain[0] == '+' ? 1 : 0);
  const char* last = plain.data() + plain.size();
  if (shape == Shape::whole_number) {
    std::int64_t value = 0;
    if (std::from_chars(first, last, value).ec == std::errc{}) return Json(value);
    std::uint64_t large = 0;
    if (std::from_chars(first, last, large).ec == std::errc{}) return Json(large);
    throw std::invalid_argument("the number " + plain + " needs more than 64 bits; put it in quotes if it is text");
  }
  double value = 0;
  if (std::from_chars(first, last, value).ec == std::errc{} && std::isfinite(value)) return Json(value);
  throw std::invalid_argument("the number " + plain +
                              " is outside what a double can hold; put it in quotes if it is text");
}

}  // namespace

Json core_schema_value(const std::string& plain) {
  if (plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL") return nullptr;
  if (plain == "true") return true;
  if (plain == "false") return false;
  if (is_not_finite(plain)) throw std::invalid_argument(plain + " is not a finite number");
  const Shape shape = number_shape(plain);
  if (shape == Shape::text) return plain;
  return parse_number(plain, shape);
}

}  // namespace perfbench::harness
