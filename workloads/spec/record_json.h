// Records to and from JSON text (one line, canonical).
#pragma once

#include <string>
#include <string_view>

#include "workloads/spec/environment.h"
#include "workloads/spec/record.h"

namespace perfbench::spec {

std::string to_json_line(const StepRecord& record);
std::string to_json_line(const DryReport& report);
std::string to_json_line(const RunSummary& summary);
std::string to_json_line(const EnvironmentRecord& environment);

// Throw SpecError.
StepRecord parse_step_record(std::string_view line);
DryReport parse_dry_report(std::string_view line);
RunSummary parse_run_summary(std::string_view text);
EnvironmentRecord parse_environment(std::string_view text);

}  // namespace perfbench::spec
