// Converts RunSpec and ModelSpec to and from JSON text, so that users need not include the JSON library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct ModelSpec;
struct RunSpec;

// Keys sorted, no white space, shortest decimal of each double, without the fields that are omitted at their default
// (fields.h): equal specs give equal bytes, and the bytes of a spec do not change when a field is added.
std::string canonical_json(const RunSpec& spec);
std::string canonical_json(const ModelSpec& spec);

// The same with only the fields that the counts of a dry walk depend on (Field::uncounted): runs with equal text have
// equal counts.
std::string counted_json(const RunSpec& spec);

// Reads a whole, resolved run.json of perfbench-engine. Throws SpecError: not JSON, unknown or missing key, wrong type,
// out of range, or a combination that validate() rejects.
RunSpec parse_run_json(std::string_view text);
// The same for a recorded run, which may contradict itself (it is recorded as infeasible) or run another program.
RunSpec parse_recorded_run(std::string_view text);
// The same for a model alone, without checks across fields.
ModelSpec parse_model_json(std::string_view text);

struct FieldDifference {
  std::string field;  // dotted: "mesh.ici.dp"
  std::string left;
  std::string right;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"field", "its name"}, self.field);
    f(Field{"left", "on the left"}, self.left);
    f(Field{"right", "on the right"}, self.right);
  }
};
// Fields whose values differ, in the order of the canonical JSON.
std::vector<FieldDifference> difference(const RunSpec& left, const RunSpec& right);

// Every field of the canonical JSON as "dotted.name", JSON value.
std::vector<std::pair<std::string, std::string>> flat_fields(const RunSpec& spec);

// A JSON value of flat_fields or difference in readable form: text without its quotes.
std::string without_quotes(const std::string& json_value);

}  // namespace perfbench::spec
