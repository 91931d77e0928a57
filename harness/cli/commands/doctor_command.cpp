// perfbench doctor: what on this machine would spoil a measurement, and what to do about it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/machine_facts.h"
#include "harness/judge/diagnosis.h"
#include "reports/content/doctor_document.h"

namespace perfbench::harness {
namespace {

struct DoctorOptions {
  TableFormat format = TableFormat::text;
  LayoutOptions layout;
};

ExitCode doctor(const DoctorOptions& options, const CommandContext& context) {
  const auto findings = diagnose(collect_facts({.engine = {context.engine}}));
  print_document(reports::doctor_document(findings), document_format(options.format).value(), options.layout);
  const bool failed = std::any_of(findings.begin(), findings.end(),
                                  [](const Observation& f) { return f.state == ObservationState::fail; });
  return failed ? ExitCode::failure : ExitCode::fine;
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("doctor", "Finds what would spoil a measurement on this machine, and names the remedy");
  auto options = std::make_shared<DoctorOptions>();
  add_output_options(*command, options->format, TableFormat::text, options->layout,
                     "text, markdown, csv, json or html");
  command->footer(
      "Examples:\n"
      "  perfbench doctor\n"
      "  perfbench doctor --format json\n"
      "Exit codes: 0 everything can run (perhaps with warnings); 4 something cannot.");
  command->callback([options, &context] { context.exit_code = doctor(*options, context); });
}

}  // namespace perfbench::harness
