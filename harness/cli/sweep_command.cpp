// perfbench sweep: runs every cell of a matrix, records it, prints the table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/checked_option.h"
#include "harness/cli/commands.h"
#include "harness/cli/execution_options.h"
#include "harness/cli/left_out.h"
#include "harness/cli/matrix_options.h"
#include "harness/cli/planned_sweep.h"
#include "harness/cli/stored_cells.h"
#include "harness/input_error.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/run_keys.h"
#include "harness/plan/plan_table.h"
#include "harness/plan/runnable.h"
#include "harness/provenance/machine_facts.h"
#include "harness/run/interruption.h"
#include "harness/run/sweep.h"
#include "harness/store/query.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

struct SweepArguments {
  MatrixOptions matrix;
  fs::path db = "perf.db";
  fs::path runs;  // empty: beside the database
  ExecutionOptions execution;
  std::int64_t repeats = 0;  // 0: as the matrix says
  bool resume = false;
  bool keep_going = false;
  bool fail_fast = false;
  bool dry_run = false;
  std::string device;
};

fs::path runs_folder(const SweepArguments& args) {
  return args.runs.empty() ? fs::path(args.db).replace_extension(".runs") : args.runs;
}

void print_end(const SweepSummary& summary, const SweepArguments& args) {
  std::string states;
  for (const auto& [state, count] : summary.states) {
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, spec::enum_name(state));
  }
  if (summary.cells_already_done > 0) {
    states += fmt::format("{}{} done before", states.empty() ? "" : ", ", summary.cells_already_done);
  }
  reports::print("\n{}; database {}, evidence {}\n", states.empty() ? "nothing to do" : states, args.db.string(),
                 runs_folder(args).string());
  if (summary.cancelled) reports::print("cancelled; `--resume` goes on where it stopped\n");
  if (!summary.store_error.empty()) {
    reports::print("{} attempts are not in the database ({}); repeat with: perfbench ingest {} --db {}\n",
                   summary.not_stored.size(), summary.store_error, runs_folder(args).string(), args.db.string());
  }
}

// Of all that the store has, also where it did not take everything: print_end says that.
void print_table(const SweepSummary& summary, SweepStore& store, const CommandContext& context) {
  try {
    reports::print_text(stdout, "\n" + report_text(store.db(), {.selection = summary.sweep_id}, context));
  } catch (const std::exception&) {
    if (summary.store_error.empty()) throw;
  }
}

// What is resumed is the same sweep: one table, and repeats that are compared together. So it has one engine.
ResumedSweep resumed_sweep(const Connection& db, const std::string& matrix, const ExecutionSettings& execution) {
  const auto sweep_id = newest_sweep(db, matrix);
  ResumedSweep out{.sweep_id = sweep_id.value_or(execution.sweep_id), .repeats = execution.repeats};
  if (!sweep_id) return out;
  const auto begun = sweep_settings(db, *sweep_id);
  if (out.repeats == 0) out.repeats = begun.repeats;
  if (begun.engines.empty()) {
    out.note = "note: the sweep " + *sweep_id + " does not say which engine began it; this one goes on with it";
  } else if (begun.engines != std::vector{execution.engine_sha256}) {
    out.obstacle = fmt::format(
        "[sweep] --resume: another engine began the sweep {} (SHA-256 {}; {} is {}), and one table would show the two "
        "as one: go on with that engine, or begin a new sweep without --resume",
        *sweep_id, fmt::join(begun.engines, ", "), execution.launcher.engine.file.string(), execution.engine_sha256);
  }
  return out;
}

SweepOptions sweep_options(const SweepArguments& args, const CommandContext& context) {
  SweepOptions out{.on_failure = args.fail_fast ? OnFailure::stop : OnFailure::keep_going,
                   .scope = args.resume ? Scope::unfinished_cells : Scope::every_cell,
                   .execution = execution_settings(args.execution, SweepKind::hand, runs_folder(args), context)};
  out.execution.selection = args.matrix.selection();
  out.execution.engine_sha256 = engine_sha256(context.engine);
  out.execution.repeats = args.repeats;
  return out;
}

// Asked for by hand, a device that is not there is an error; in a matrix it is a cell that is only planned.
void require_device(const std::string& device, const CommandContext& context) {
  if (device != spec::enum_name(spec::Device::cuda)) return;
  const auto answer = ask_engine_environment({context.engine});
  if (!answer.facts) throw InputError("[sweep] --device cuda: " + answer.error);
  if (const auto why_not = no_gpus_for(1, *answer.facts)) throw InputError("[sweep] --device cuda: " + *why_not);
}

ExitCode sweep(SweepArguments args, const CommandContext& context) {
  const ModelCatalog catalog(context.data_dir());
  if (!args.dry_run) require_device(args.device, context);
  if (!args.device.empty()) args.matrix.overrides.set.push_back("device=" + args.device);
  auto expansion = load_matrix(args.matrix, catalog, context.data_dir());
  if (args.dry_run) {
    const auto planned = plan_cells(std::move(expansion.cells), {.engine = {context.engine}, .catalog = &catalog});
    write_plan(expansion.name, planned, PlanFormat::table,
               [](std::string_view part) { reports::print_text(stdout, part); });
    return ExitCode::fine;
  }
  Interruption interruption;  // before any thread, so that all of them inherit its mask
  const auto work = plan_work(std::move(expansion.cells), context, catalog, interruption.fd());
  SweepStore store(args.db);
  store.db();  // a database that cannot even be opened is better said now than after an hour
  const auto options = sweep_options(args, context);
  const auto summary = run_planned(work, options, store, interruption,
                                   [&] { return resumed_sweep(store.db(), expansion.name, options.execution); });
  if (summary.attempts.size() + static_cast<std::size_t>(summary.cells_already_done) > 0) {
    print_table(summary, store, context);
  }
  print_end(summary, args);
  return tell_left_out(store.db(), summary.all_fine() ? ExitCode::fine : ExitCode::failure);
}

}  // namespace

void add_sweep(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("sweep", "Runs every cell of a matrix, records it and prints the table");
  auto args = std::make_shared<SweepArguments>();
  add_matrix_options(*command, args->matrix);
  add_path(*command, "--db", args->db, PathIs::database, "database, made when absent")->capture_default_str();
  add_path(*command, "--runs", args->runs, PathIs::folder,
           "folder of the run directories; beside the database unless given");
  command->add_flag(
      "--resume", args->resume,
      "go on with the newest sweep of this matrix, by the engine that began it: what it has not finished");
  add_execution_options(*command, args->execution);
  add_number(*command, "--repeats", args->repeats, Bounds<std::int64_t>{1, kMostRepeats},
             "attempts of every cell, instead of the matrix's; a resumed sweep keeps those it was begun with");
  command->add_option("--device", args->device, "cpu or cuda, for every cell");
  auto* going =
      command->add_flag("--keep-going", args->keep_going, "a failed cell does not end the sweep (the default)");
  command->add_flag("--fail-fast", args->fail_fast, "the first failed cell ends the sweep")->excludes(going);
  command->add_flag("--dry-run", args->dry_run, "print the plan and stop");
  command->footer(
      "Examples:\n"
      "  perfbench sweep matrices/quickstart.yaml\n"
      "  perfbench sweep matrices/llama.yaml --db llama.db --only model=llama-tiny --set steps=20\n"
      "  perfbench sweep matrices/llama.yaml --db llama.db --resume\n"
      "A cell whose loss became NaN or infinite is recorded as diverged, with the first such step, and has no speed.\n"
      "Exit codes: 0 every cell is ok, or known not to run; 3 wrong input, or a row of the database cannot be read;\n"
      "4 a cell failed (crashed, diverged, timed out, out of memory, quarantined), an attempt is not in the database,\n"
      "or the sweep was cancelled.");
  command->callback([args, &context] { context.exit_code = sweep(*args, context); });
}

}  // namespace perfbench::harness
