#include "workloads/spec/record_json.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {
namespace {

template <class T>
T parse_record(std::string_view text) {
  return fields_from_json<T>(parse_json(text), Missing::is_error);
}

}  // namespace

std::string to_json_line(const StepRecord& record) {
  return json_line(fields_to_json(record));
}
std::string to_json_line(const DryReport& report) {
  return json_line(fields_to_json(report));
}
std::string to_json_line(const RunSummary& summary) {
  return json_line(fields_to_json(summary));
}
std::string to_json_line(const EnvironmentRecord& environment) {
  return json_line(fields_to_json(environment));
}

StepRecord parse_step_record(std::string_view line) {
  return parse_record<StepRecord>(line);
}
DryReport parse_dry_report(std::string_view line) {
  return parse_record<DryReport>(line);
}
RunSummary parse_run_summary(std::string_view text) {
  return parse_record<RunSummary>(text);
}
EnvironmentRecord parse_environment(std::string_view text) {
  return parse_record<EnvironmentRecord>(text);
}

}  // namespace perfbench::spec
