#include "workloads/spec/run_spec_json.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/validate.h"

namespace perfbench::spec {
namespace {

void flatten(const Json& json, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& out) {
  if (!json.is_object() || (json.empty() && !prefix.empty())) {
    out.emplace_back(prefix, json_line(json));
    return;
  }
  for (const auto& [key, value] : json.items()) flatten(value, prefix.empty() ? key : prefix + "." + key, out);
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

std::vector<FieldDifference> difference(const RunSpec& left, const RunSpec& right) {
  if (&left == &right) return {};  // attempts of one cell share theirs
  std::map<std::string, FieldDifference> all;
  for (const auto& [field, value] : flat(left, Written::whole)) all[field] = {field, value, ""};
  for (const auto& [field, value] : flat(right, Written::whole)) {
    all[field].field = field;
    all[field].right = value;
  }
  std::vector<FieldDifference> out;
  for (const auto& [field, entry] : all) {
    if (entry.left != entry.right) out.push_back(entry);
  }
  return out;
}

}  // namespace perfbench::spec
