#include "harness/app/sweep/program_matrix.h"

#include <filesystem>

#include "harness/matrix/run_keys.h"
#include "harness/system/input_error.h"
#include "harness/system/place_names.h"
#include "harness/system/text_template.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

using spec::Json;

std::string literal_word(const std::string& word) {
  auto out = escape_template(word);
  for (const auto name : kPlaceNames) {
    const auto doubled = "{{" + std::string(name) + "}}";
    for (auto at = out.find(doubled); at != std::string::npos; at = out.find(doubled, at)) {
      out.replace(at, doubled.size(), "{" + std::string(name) + "}");
    }
  }
  return out;
}

Json work_of(const std::vector<std::string>& work) {
  Json out = Json::object();
  for (const auto& words : work) {
    const auto equals = words.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("[run] --work " + words + ": the form is KEY=VALUE, such as --work seq_len=1024");
    }
    const auto name = words.substr(0, equals);
    const auto text = words.substr(equals + 1);
    const auto key = find_key(name);
    const auto value = key ? parse_key_value(key->kind, text) : std::nullopt;
    out[name] = value.value_or(Json(text));
  }
  return out;
}

// The script of an interpreter, or else the program.
std::string name_of_command(const std::vector<std::string>& command) {
  for (const auto& word : command) {
    if (word.ends_with(".py")) return std::filesystem::path(word).filename().string();
  }
  return std::filesystem::path(command.front()).filename().string();
}

}  // namespace

std::string program_matrix(const ProgramWords& words) {
  Json command = Json::array();
  for (const auto& word : words.command) command.push_back(literal_word(word));
  Json program{{"command", command}};
  if (!words.reader.empty()) program["reader"] = words.reader;
  if (!words.metrics.empty()) program["metrics"] = spec::value_to_json(words.metrics, spec::Written::canonical);
  if (words.steps > 0) program["steps"] = words.steps;
  if (words.drop > 0) program["drop"] = words.drop;
  if (auto container = words.container; !container.image.empty()) {
    container.image = literal_word(container.image);
    for (auto& option : container.options) option = literal_word(option);
    program["container"] = spec::fields_to_json(container);
  }
  const Json value{{"name", words.name.empty() ? name_of_command(words.command) : words.name}, {"set", Json::object()}};
  const Json matrix{{"name", "run"},
                    {"program", program},
                    {"work", work_of(words.work)},
                    {"axes", {{"command", Json::array({value})}}},
                    {"repeats", words.repeats}};
  try {
    return matrix.dump();
  } catch (const Json::exception&) {
    throw InputError("[run] the command is not UTF-8 text");
  }
}

}  // namespace perfbench::harness
