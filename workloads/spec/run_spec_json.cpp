#include "workloads/spec/run_spec_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/run_json.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::spec {
namespace {

std::string within(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

void flatten(const Json& json, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& out) {
  if (!json.is_object() || (json.empty() && !prefix.empty())) {
    out.emplace_back(prefix, json_line(json));
    return;
  }
  for (const auto& [key, value] : json.items()) flatten(value, within(prefix, key), out);
}

using Differences = std::map<std::string, FieldDifference>;

void take(const Json& json, const std::string& prefix, std::string FieldDifference::*side, Differences& out) {
  std::vector<std::pair<std::string, std::string>> fields;
  flatten(json, prefix, fields);
  for (auto& [field, value] : fields) {
    out[field].field = field;
    out[field].*side = std::move(value);
  }
}

// Whether both are the same number or text. 0.0 and -0.0 compare equal, and are written differently.
bool are_same(const Json& left, const Json& right) {
  if (!left.is_primitive() || left != right) return false;
  return !left.is_number_float() || std::signbit(left.get<double>()) == std::signbit(right.get<double>());
}

// Equal values, which nearly all are, never become text.
void compare(const Json& left, const Json& right, const std::string& prefix, Differences& out) {
  if (are_same(left, right)) return;
  if (!left.is_object() || !right.is_object() || left.empty() || right.empty()) {
    take(left, prefix, &FieldDifference::left, out);
    take(right, prefix, &FieldDifference::right, out);
    return;
  }
  for (const auto& [key, value] : left.items()) {
    const auto other = right.find(key);
    if (other == right.end()) {
      take(value, within(prefix, key), &FieldDifference::left, out);
    } else {
      compare(value, *other, within(prefix, key), out);
    }
  }
  for (const auto& [key, value] : right.items()) {
    if (!left.contains(key)) take(value, within(prefix, key), &FieldDifference::right, out);
  }
}

std::vector<std::pair<std::string, std::string>> flat(const RunSpec& spec, Written written) {
  std::vector<std::pair<std::string, std::string>> out;
  flatten(run_to_json(spec, written), "", out);
  return out;
}

constexpr const char* kProgramKey = "program";
constexpr const char* kVersionKey = "schema_version";

}  // namespace

Json::json_pointer pointer_of(const std::string& field) {
  Json::json_pointer out;
  for (std::size_t start = 0; start <= field.size();) {
    const auto dot = std::min(field.find('.', start), field.size());
    out /= field.substr(start, dot - start);
    start = dot + 1;
  }
  return out;
}

Json run_to_json(const RunSpec& run, Written written) {
  if (!run.program) return fields_to_json(run, written);
  const auto all = fields_to_json(run, Written::whole);
  Json out{{kVersionKey, run.schema_version}, {kProgramKey, fields_to_json(run.program->spec, written)}};
  for (const auto& field : run.program->declared) {
    const auto pointer = pointer_of(field);
    out[pointer] = all.at(pointer);
  }
  return out;
}

RunSpec run_from_json(const Json& json) {
  if (!json.is_object() || !json.contains(kProgramKey)) return fields_from_json<RunSpec>(json, Missing::is_error);
  Json work = json;
  work.erase(kProgramKey);
  auto run = fields_from_json<RunSpec>(work, Missing::takes_default);
  RunProgram program{
      .spec = fields_from_json<ProgramSpec>(json[kProgramKey], Missing::takes_default, std::string("/") + kProgramKey)};
  work.erase(kVersionKey);
  std::vector<std::pair<std::string, std::string>> fields;
  if (!work.empty()) flatten(work, "", fields);
  for (auto& [field, value] : fields) program.declared.insert(std::move(field));
  run.program = std::make_shared<const RunProgram>(std::move(program));
  return run;
}

std::string canonical_json(const RunSpec& spec) {
  return json_line(run_to_json(spec));
}
std::string counted_json(const RunSpec& spec) {
  return json_line(run_to_json(spec, Written::counted));
}
std::string canonical_json(const ModelSpec& spec) {
  return json_line(fields_to_json(spec));
}

RunSpec parse_run_json(std::string_view text) {
  auto spec = parse_recorded_run(text);
  if (spec.program) {
    throw SpecError("/program", "perfbench-engine runs no other program: start this run through perfbench-adapter");
  }
  validate(spec);
  return spec;
}

RunSpec parse_recorded_run(std::string_view text) {
  return run_from_json(parse_json(text));
}

ModelSpec parse_model_json(std::string_view text) {
  return fields_from_json<ModelSpec>(parse_json(text), Missing::is_error);
}

std::vector<std::pair<std::string, std::string>> flat_fields(const RunSpec& spec) {
  return flat(spec, Written::canonical);
}

std::string without_quotes(const std::string& json_value) {
  if (!json_value.starts_with('"')) return json_value;
  return parse_own_json(json_value).get<std::string>();
}

std::vector<FieldDifference> difference(const RunSpec& left, const RunSpec& right) {
  if (&left == &right) return {};  // attempts of one cell share their spec
  return difference(run_to_json(left, Written::whole), run_to_json(right, Written::whole));
}

std::vector<FieldDifference> difference(const Json& left, const Json& right) {
  Differences all;
  compare(left, right, "", all);
  std::vector<FieldDifference> out;
  for (const auto& [field, entry] : all) {
    if (entry.left != entry.right) out.push_back(entry);
  }
  return out;
}

}  // namespace perfbench::spec
