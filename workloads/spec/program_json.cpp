#include "workloads/spec/program_json.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {

std::string to_json_line(const ProgramSpec& program) {
  return json_line(fields_to_json(program));
}
std::string to_json_line(const Sample& sample) {
  return json_line(fields_to_json(sample));
}
std::string to_json_line(const ProgramResult& result) {
  return json_line(fields_to_json(result));
}

ProgramSpec parse_program_spec(std::string_view text) {
  auto program = fields_from_json<ProgramSpec>(parse_json(text), Missing::takes_default);
  for (const auto& [name, metric] : program.metrics) {
    if (metric.regex.empty() == metric.key.empty()) {
      throw SpecError("/metrics/" + name, "metric '" + name + "' needs either a regex or a key");
    }
  }
  return program;
}
Sample parse_sample(std::string_view line) {
  return fields_from_json<Sample>(parse_json(line), Missing::is_error);
}
ProgramResult parse_program_result(std::string_view text) {
  return fields_from_json<ProgramResult>(parse_json(text), Missing::is_error);
}

}  // namespace perfbench::spec
