#include "harness/readers/json_row.h"

#include "workloads/spec/json_words.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::readers {
namespace {

// The position after the brace that closes the object at the start of the text; npos if there is no such brace.
std::size_t end_of_object(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && c == '{') {
      ++depth;
    } else if (!in_string && c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

void add_object(const spec::Json& object, const std::string& above, std::span<const KeyedFigure> keys, Row& row) {
  for (const auto& [name, value] : object.items()) {
    const auto path = above.empty() ? name : above + "/" + name;
    if (value.is_object()) add_object(value, path, keys, row);
    for (const auto& key : keys) {
      if (key.key != path) continue;
      if (value.is_string()) row.add(key.figure, value.get<std::string>());
      if (value.is_number()) row.add_value(key.figure, {value.get<double>(), 0});
    }
  }
}

}  // namespace

std::string with_quoted_words(std::string_view text) {
  std::string out;
  for (spec::QuotedWords words(spec::bytes_of(text)); !words.at_end(); words.next()) out += words.current();
  return out;
}

bool add_json(std::string_view text, std::span<const KeyedFigure> keys, Row& row) {
  const auto end = end_of_object(text);
  if (end == std::string_view::npos) return false;
  text = text.substr(0, end);
  try {
    const bool has_words =
        text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
    add_object(has_words ? spec::parse_json(with_quoted_words(text)) : spec::parse_json(text), "", keys, row);
    return true;
  } catch (const spec::SpecError&) {
    return false;
  }
}

}  // namespace perfbench::readers
