// perfbench adapt: makes a run directory from the log of a training program.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/adapter/program_run.h"
#include "harness/app/execution.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/app/sweep/program_matrix.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/reading_options.h"
#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/classify.h"
#include "harness/readers/reader.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

struct AdaptOptions {
  fs::path log;
  fs::path into;
  ReadingOptions reading;
};

spec::ProgramSpec program_of(const AdaptOptions& options) {
  ProgramWords words;
  add_reading(options.reading, words);
  spec::ProgramSpec program{.reader = words.reader, .metrics = words.metrics, .steps = words.steps, .drop = words.drop};
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

// The only cell of the log: its run.json says how the log was read, and has its name in place of a command.
Cell cell_of(const AdaptOptions& options, const spec::ProgramSpec& program, const Installation& installation) {
  const auto name = options.log.filename().string();
  const MatrixOptions matrix{.file = {},
                             .text = program_matrix({.command = {"log", name},
                                                     .reader = program.reader,
                                                     .metrics = program.metrics,
                                                     .work = options.reading.work,
                                                     .steps = program.steps,
                                                     .drop = program.drop,
                                                     .name = name}),
                             .overrides = {}};
  const ModelCatalog catalog(installation.data_dir());
  return expand_matrix(matrix, catalog, installation.data_dir()).cells.front();
}

AttemptRecord record_of(const AdaptOptions& options, const Cell& cell, const spec::ProgramResult& result) {
  AttemptRecord record;
  record.run_id = cell.run_id;
  record.state = state_of(result.status);
  record.reason = result.reason;
  record.started_utc = utc_now();
  record.matrix = cell.matrix;
  record.cell = cell.label;
  record.axes = {cell.axes.begin(), cell.axes.end()};
  record.command = {"perfbench", "adapt", options.log.string()};
  record.sweep_id = new_sweep_id();
  record.perfbench_version = std::string(build_info::current().version);
  return record;
}

ExitCode adapt(const AdaptOptions& options, const Installation& installation) {
  try {
    const auto program = program_of(options);
    const auto cell = cell_of(options, program, installation);
    make_new_folder(options.into);
    write_atomically(options.into / kRunFile, spec::canonical_json(cell.run));
    write_atomically(options.into / spec::kProgramFile, spec::to_json_line(program) + "\n");
    const auto result = adapter::adapt_log(options.log, options.into);
    write_atomically(options.into / kAttemptFile, to_json_line(record_of(options, cell, result)));
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
  auto* command = app.add_subcommand("adapt", "Makes a run directory from the log of another training program");
  auto options = std::make_shared<AdaptOptions>();
  add_path(*command, "LOG", options->log, PathIs::file, "the output of the program, or a metric file of it")
      ->required();
  add_path(*command, "--into", options->into, PathIs::folder, "new or empty folder for the run directory")->required();
  add_reading_options(*command, options->reading, "--metric", Readers::all);
  command->footer(
      "samples.jsonl has a number a line: its metric, step, and how many steps it is a mean over. `perfbench ingest`\n"
      "stores the folder in a database.\n"
      "Examples:\n"
      "  perfbench adapt --reader maxtext train.log --into run\n"
      "  perfbench adapt --metric 'step_time_s=took (?P<value>[0-9.]+) ms:ms' train.log --into run\n"
      "Exit codes: 0 success; 2 the log is not that of one complete run; 3 wrong input; 4 the folder cannot be "
      "written.");
  command->callback([options, &context] { context.exit_code = adapt(*options, context); });
}

}  // namespace perfbench::harness
