#include "workloads/spec/record_json.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

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
std::string to_json_line(const GpuSample& sample) {
  return json_line(fields_to_json(sample));
}
std::string to_json_line(const TraceEvent& event) {
  return json_line(fields_to_json(event));
}
std::string to_json_line(const TraceEnd& end) {
  return json_line(fields_to_json(end));
}
std::string to_json_line(const CheckpointShard& shard) {
  return json_line(fields_to_json(shard));
}
std::string to_json_line(const CheckpointManifest& manifest) {
  return json_line(fields_to_json(manifest));
}

RunSummary parse_run_summary(std::string_view text) {
  return parse_record<RunSummary>(text);
}
GpuSample parse_gpu_sample(std::string_view line) {
  return parse_record<GpuSample>(line);
}
EnvironmentRecord parse_environment(std::string_view text) {
  return parse_record<EnvironmentRecord>(text);
}
CheckpointShard parse_checkpoint_shard(std::string_view text) {
  return parse_record<CheckpointShard>(text);
}
CheckpointManifest parse_checkpoint_manifest(std::string_view text) {
  return parse_record<CheckpointManifest>(text);
}
std::variant<TraceEvent, TraceEnd> parse_trace_line(std::string_view line) {
  const auto json = parse_json(line);
  // Only the last line has a count of records.
  if (json.is_object() && json.contains("dropped_records")) return fields_from_json<TraceEnd>(json, Missing::is_error);
  auto event = fields_from_json<TraceEvent>(json, Missing::is_error);
  if (event.end_ns < event.start_ns) {
    throw SpecError("/end_ns", "'end_ns' is " + std::to_string(event.end_ns) + ", before 'start_ns' " +
                                   std::to_string(event.start_ns));
  }
  return event;
}

}  // namespace perfbench::spec
