// perfbench trace: shows where the time of a run's traced steps went, and exports the trace for other programs.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "harness/app/runs/run_name.h"
#include "harness/app/runs/traced_run.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/evidence/output_file.h"
#include "harness/store/archive/nsight_export.h"
#include "harness/system/input_error.h"
#include "harness/trace/chrome_export.h"
#include "reports/render/format/print.h"
#include "reports/views/run_views.h"

namespace perfbench::harness {

enum class TraceFormat { text, markdown, csv, json, html, svg, chrome, sqlite };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::TraceFormat> {
  using F = perfbench::harness::TraceFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"},     std::pair{F::markdown, "markdown"},
                                     std::pair{F::csv, "csv"},       std::pair{F::json, "json"},
                                     std::pair{F::html, "html"},     std::pair{F::svg, "svg"},
                                     std::pair{F::chrome, "chrome"}, std::pair{F::sqlite, "sqlite"},
                                     std::pair{F::text, "table"}};  // the former name of text
};

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

struct TraceOptions {
  std::string run;  // a folder, or a name (run_name.h)
  RunPlaces places{.db = "perf.db"};
  TraceFormat format = TraceFormat::text;
  LayoutOptions layout;
  std::string against;  // like run; empty: no comparison
};

// A folder that an engine filled on its own has no attempt.json, but may have a trace.
fs::path traced_folder(const std::string& named, const RunPlaces& places) {
  std::error_code none;
  return fs::exists(fs::path(named) / trace_file(0), none) ? fs::path(named) : find_run_folder(places, named, "trace");
}

reports::Document difference(const TraceOptions& options, const TracedRun& traced) {
  return reports::trace_difference_view(read_traced_run(traced_folder(options.against, options.places)), traced);
}

ExitCode trace(const TraceOptions& options, const CommandContext& context) {
  const auto format = document_format(options.format);
  if (!format && !options.against.empty()) {
    throw InputError(fmt::format("[trace] --against has the formats text, markdown, csv, json, html and svg, not {}",
                                 spec::enum_name(options.format)));
  }
  const auto folder = traced_folder(options.run, options.places);
  const auto traced = read_traced_run(folder);
  const auto document = [&] {
    auto out = options.against.empty() ? reports::trace_view(traced, {context.engine}) : difference(options, traced);
    out.page_title = options.against.empty() ? "Traced steps of " + options.run
                                             : "B, " + options.run + ", compared with A, " + options.against;
    return out;
  };
  const auto& output = options.layout.output;
  if (format) {
    print_document(document(), *format, options.layout);
    if (!output.empty()) reports::print("{}\n", output.string());
    return ExitCode::fine;
  }
  if (!options.layout.html.empty()) write_page(document(), options.layout);
  if (options.format == TraceFormat::sqlite) {
    const auto file = output.empty() ? folder / kTraceDatabaseFile : output;
    write_nsight_sqlite(file, traced.traces);
    reports::print("{}\n", file.string());
    return ExitCode::fine;
  }
  if (output.empty()) {
    reports::print_text(stdout, chrome_json(traced.traces));
    return ExitCode::fine;
  }
  write_output(output, chrome_json(traced.traces));
  reports::print("{}\n", output.string());
  return ExitCode::fine;
}

}  // namespace

void add_trace(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("trace", "Shows where the time of a run's traced steps went");
  auto options = std::make_shared<TraceOptions>();
  command
      ->add_option("RUN", options->run,
                   std::string("folder of an attempt, or of a run: its newest attempt; or ") + kRunNameHelp)
      ->type_name(kRunNameType)
      ->required();
  add_output_options(*command, options->format, TraceFormat::text, options->layout,
                     "text, markdown, csv, json, html or svg of the summary; chrome: for ui.perfetto.dev; sqlite: "
                     "Nsight Systems' tables, by default as trace.sqlite in the folder");
  command
      ->add_option("--against", options->against,
                   "another traced run: shows the difference in each operation, collective and idle time")
      ->type_name(kRunNameType);
  add_db_option(*command, options->places.db, "database in which names are looked up");
  add_path(*command, "--runs", options->places.runs, PathIs::folder,
           "folder of its run directories; default: beside the database");
  command->footer(
      "Steps are traced if a run has trace_steps, which run after the timed ones, or a profile, which covers a window "
      "of\n"
      "those; traced steps do not count in any timing.\n"
      "Examples:\n"
      "  perfbench sweep matrices/quickstart.yaml --only model=gpt-mini --set trace_steps=2\n"
      "  perfbench trace perf.runs/1f6c0d2ab3e94d57\n"
      "  perfbench trace perf.runs/1f6c0d2ab3e94d57 --format chrome --output trace.json\n"
      "  perfbench trace perf.runs/1f6c0d2ab3e94d57 --format sqlite\n"
      "  perfbench trace latest\n"
      "  perfbench trace perf.runs/1f6c0d2ab3e94d57/002 --against perf.runs/1f6c0d2ab3e94d57/001\n"
      "Parts add up to the step. Overlapping time is attributed to the first category in this list: gemm, attention, "
      "norm,\n"
      "elementwise, optimizer, other, copy, exposed comm (only a collective runs), idle dependency (submitted, not "
      "begun),\n"
      "idle host.\n"
      "The critical path is the chain of work and waiting over all ranks that takes the whole first step.\n"
      "Exit codes: 0 success; 3 there is no trace, or it is damaged; 4 the file cannot be written.");
  command->callback([options, &context] { context.exit_code = trace(*options, context); });
}

}  // namespace perfbench::harness
