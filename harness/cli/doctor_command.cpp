// perfbench doctor: what on this machine would spoil a measurement, and what to do about it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/enum_option.h"
#include "harness/provenance/diagnosis.h"
#include "reports/format/json_text.h"
#include "reports/format/print.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

void print_table(const std::vector<Observation>& findings) {
  for (const auto& finding : findings) {
    reports::print("{:<5} {:<12} {}\n", spec::enum_name(finding.state), finding.subject, finding.found);
    if (finding.state == ObservationState::ok) continue;
    reports::print("{:18} spoils: {}\n", "", finding.spoils);
    if (!finding.fix.empty()) reports::print("{:18} fix:    {}\n", "", finding.fix);
  }
}

ExitCode doctor(const std::string& format, const CommandContext& context) {
  const auto findings = diagnose(collect_facts({.engine = {context.engine}}));
  if (format == "json") {
    reports::print_text(stdout, reports::json_text(spec::value_to_json(findings, spec::Written::whole), 1));
  } else {
    print_table(findings);
  }
  const bool failed = std::any_of(findings.begin(), findings.end(),
                                  [](const Observation& f) { return f.state == ObservationState::fail; });
  return failed ? ExitCode::failure : ExitCode::fine;
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("doctor", "What on this machine would spoil a measurement, and what to do about it");
  auto format = std::make_shared<std::string>("table");
  add_name_option(
      *command, "--format", {"table", "json"}, [format](const std::string& name) { *format = name; }, "table or json")
      ->default_str(*format);
  command->footer(
      "Examples:\n  perfbench doctor\n  perfbench doctor --format json\n"
      "Exit codes: 0 everything can run (warnings included); 4 something cannot.");
  command->callback([format, &context] { context.exit_code = doctor(*format, context); });
}

}  // namespace perfbench::harness
