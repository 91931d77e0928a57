// --only and --set of the command line.
#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/mistakes.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

struct KeyAndText {
  std::string key;
  std::string text;
};

KeyAndText split(const std::string& option, const std::string& words) {
  const auto equals = words.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == words.size()) {
    throw InputError("[matrix] " + option + " '" + words + "': the form is " + option + " key=value");
  }
  return {words.substr(0, equals), words.substr(equals + 1)};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string field_list() {
  std::vector<std::string> names;
  for (const auto& key : run_keys()) {
    if (key.kind != KeyKind::group) names.push_back(short_name(key.name));
  }
  return list_of(names);
}

Condition only_condition(const std::string& words, const MatrixParts& parts) {
  const auto [word, text] = split("--only", words);
  Condition condition;
  const auto key = parts.find(word);
  if (parts.has_axis(word)) {
    condition.name = word;
  } else if (key && key->kind != KeyKind::group) {
    condition.name = key->name;
  } else {
    const auto axes = parts.axis_names();
    throw InputError("[matrix] --only " + words + ": unknown key '" + word + "'" + key_suggestion(word, axes) +
                     "\n  axes of this matrix: " + (axes.empty() ? "none" : list_of(axes)) +
                     "\n  fields: " + field_list());
  }
  for (std::size_t start = 0; start <= text.size();) {
    const auto comma = std::min(text.find(',', start), text.size());
    if (comma == start) throw InputError("[matrix] --only " + words + ": the value is empty");
    const auto pattern = text.substr(start, comma - start);
    condition.patterns.push_back(key ? plain_pattern(key->kind, pattern) : pattern);
    start = comma + 1;
  }
  return condition;
}

// A run is written as JSON, which must be UTF-8.
void check_encoding(const std::string& option, const std::string& words) {
  try {
    spec::Json(words).dump();
  } catch (const spec::Json::exception&) {
    throw InputError("[matrix] " + option + ": the value is not valid UTF-8");
  }
}

Assignment set_assignment(const std::string& words, const MatrixParts& parts, std::size_t id) {
  check_encoding("--set", words);
  const auto [word, text] = split("--set", words);
  const auto key = parts.find(word);
  if (!key) {
    if (parts.has_axis(word)) {
      throw InputError("[matrix] --set " + words + ": '" + word + "' is an axis of named values; choose with --only " +
                       word + "=" + text);
    }
    throw InputError("[matrix] --set " + words + ": unknown key '" + word + "'" + key_suggestion(word, {}) +
                     "\n  fields: " + field_list());
  }
  const auto value = parse_key_value(key->kind, text);
  const bool is_share = key->kind == KeyKind::per_share;
  if (!value || (is_share && !parse_share(*value))) {
    throw InputError("[matrix] --set " + words + ": '" + word + "' must be " + std::string(kind_wanted(key->kind)));
  }
  if (key->kind == KeyKind::repeats && !is_repeat_count(*value)) {
    throw InputError("[matrix] --set " + words + ": 'repeats' must be 1 to " + std::to_string(kMostRepeats));
  }
  return {key->name, *value, Origin{"", "--set " + words}, id};
}

}  // namespace

void parse_overrides(const Overrides& overrides, MatrixParts& parts, Mistakes& mistakes) {
  for (const auto& words : overrides.only) {
    mistakes.note({"", "--only " + words}, [&] { parts.only.push_back(only_condition(words, parts)); });
  }
  for (const auto& words : overrides.set) {
    mistakes.note({"", "--set " + words},
                  [&] { parts.command_line.push_back(set_assignment(words, parts, parts.assignments++)); });
  }
}

}  // namespace perfbench::harness
