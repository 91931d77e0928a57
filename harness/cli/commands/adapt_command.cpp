// perfbench adapt: makes a run directory from the log of a training program.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/adapter/metric_option.h"
#include "harness/adapter/program_run.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/evidence/run_directory.h"
#include "harness/readers/reader.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSteps = 1'000'000'000;

struct AdaptOptions {
  fs::path log;
  fs::path into;
  std::string reader;
  std::vector<std::string> metrics;
  std::int64_t steps = 0;
  std::int64_t drop = 0;
};

std::vector<std::string> reader_names() {
  std::vector<std::string> names;
  for (const auto& info : readers::all_readers()) names.emplace_back(info.name);
  return names;
}

spec::ProgramSpec program_of(const AdaptOptions& options) {
  spec::ProgramSpec program{.reader = options.reader, .steps = options.steps, .drop = options.drop};
  for (const auto& text : options.metrics) program.metrics.insert(adapter::parse_metric_option(text));
  if (program.reader.empty() && program.metrics.empty()) {
    throw InputError("[adapt] it is unknown how to read the log; give --reader NAME or --metric NAME=REGEX");
  }
  return program;
}

void make_new_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw InputError(fmt::format("[adapt] {}: {}; name another one", folder.string(), failed.message()));
  if (!fs::is_empty(folder)) {
    throw InputError(fmt::format("[adapt] {} is not empty; name a new folder", folder.string()));
  }
}

ExitCode adapt(const AdaptOptions& options) {
  try {
    const auto program = program_of(options);
    make_new_folder(options.into);
    write_atomically(options.into / spec::kProgramFile, spec::to_json_line(program) + "\n");
    const auto result = adapter::adapt_log(options.log, options.into);
    reports::print("{}: {}, {} steps, {} samples\n", options.into.string(), spec::enum_name(result.status),
                   result.steps, result.samples);
    for (const auto& note : result.notes) reports::print(stderr, "{}\n", note);
    if (result.status == spec::ProgramStatus::ok) return ExitCode::fine;
    reports::print(stderr, "[adapt] {}\n", result.reason);
    return ExitCode::inconclusive;
  } catch (const readers::ReaderError& e) {
    throw InputError(fmt::format("[adapt] {}", e.what()));
  } catch (const spec::FileError& e) {
    throw InputError(fmt::format("[adapt] {}", e.what()));
  }
}

}  // namespace

void add_adapt(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("adapt", "A run directory from the log of another training program");
  auto options = std::make_shared<AdaptOptions>();
  add_path(*command, "LOG", options->log, PathIs::file, "the output of the program, or a metric file of it")
      ->required();
  add_path(*command, "--into", options->into, PathIs::folder, "new or empty folder for the run directory")->required();
  add_name_option(
      *command, "--reader", reader_names(), [options](const std::string& name) { options->reader = name; },
      "the program that printed it");
  command
      ->add_option("--metric", options->metrics,
                   "a metric by a regular expression of RE2 whose group `value` is the number; may be repeated")
      ->type_name("NAME=REGEX[:UNIT[:lower|higher]]");
  add_number(*command, "--steps", options->steps, Bounds<std::int64_t>{0, kMostSteps},
             "steps of the whole run; if there are fewer, the run is incomplete");
  add_number(*command, "--drop", options->drop, Bounds<std::int64_t>{0, kMostSteps},
             "at least this many first steps are excluded from timing");
  command->footer(
      "samples.jsonl has a number a line: its metric, step, and how many steps it is a mean over.\n"
      "Examples:\n"
      "  perfbench adapt --reader maxtext train.log --into run\n"
      "  perfbench adapt --metric 'step_time_s=took (?P<value>[0-9.]+) ms:ms' train.log --into run\n"
      "Exit codes: 0 success; 2 the log is not that of one complete run; 3 wrong input; 4 the folder cannot be "
      "written.");
  command->callback([options, &context] { context.exit_code = adapt(*options); });
}

}  // namespace perfbench::harness
