#include "workloads/spec/run_spec_json.h"

#include <map>
#include <utility>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/run_spec.h"
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

// Equal values, which nearly all are, never become text. Numbers do, because 0.0 and -0.0 compare equal.
void compare(const Json& left, const Json& right, const std::string& prefix, Differences& out) {
  if (left == right && left.is_primitive() && !left.is_number_float()) return;
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
  flatten(fields_to_json(spec, written), "", out);
  return out;
}

}  // namespace

std::string canonical_json(const RunSpec& spec) {
  return json_line(fields_to_json(spec));
}
std::string counted_json(const RunSpec& spec) {
  return json_line(fields_to_json(spec, Written::counted));
}
std::string canonical_json(const ModelSpec& spec) {
  return json_line(fields_to_json(spec));
}

RunSpec parse_run_json(std::string_view text) {
  auto spec = fields_from_json<RunSpec>(parse_json(text), Missing::is_error);
  validate(spec);
  return spec;
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
  Differences all;
  compare(fields_to_json(left, Written::whole), fields_to_json(right, Written::whole), "", all);
  std::vector<FieldDifference> out;
  for (const auto& [field, entry] : all) {
    if (entry.left != entry.right) out.push_back(entry);
  }
  return out;
}

}  // namespace perfbench::spec
