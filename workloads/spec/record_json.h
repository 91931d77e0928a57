// Records to and from JSON text (one line, canonical).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "workloads/spec/checkpoint_record.h"
#include "workloads/spec/dry_report.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::spec {

std::string to_json_line(const StepRecord& record);
std::string to_json_line(const DryReport& report);
std::string to_json_line(const RunSummary& summary);
std::string to_json_line(const EnvironmentRecord& environment);
std::string to_json_line(const GpuSample& sample);
std::string to_json_line(const TraceEvent& event);
std::string to_json_line(const TraceEnd& end);
std::string to_json_line(const CheckpointShard& shard);
std::string to_json_line(const CheckpointManifest& manifest);

// All throw SpecError.
RunSummary parse_run_summary(std::string_view text);
GpuSample parse_gpu_sample(std::string_view line);
EnvironmentRecord parse_environment(std::string_view text);
CheckpointShard parse_checkpoint_shard(std::string_view text);
CheckpointManifest parse_checkpoint_manifest(std::string_view text);
// Also throws for an event that ends before it starts.
std::variant<TraceEvent, TraceEnd> parse_trace_line(std::string_view line);

}  // namespace perfbench::spec
