// perfbench selftest: measures the error rates of perfbench's own verdicts.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/pairs/real_trials.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/interruption.h"
#include "harness/selftest/selftest.h"
#include "harness/selftest/series_export.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/selftest_ledger.h"
#include "harness/system/utc.h"
#include "reports/content/selftest_document.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

namespace perfbench::harness {
namespace {

struct SelftestOptions {
  bool quick = false;
  std::uint64_t seed = 1;
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
  std::filesystem::path series;  // empty: measure
  RealTrials real;               // trials 0: simulate
};

RealRates measure(const SelftestOptions& options, const CommandContext& context) {
  if (options.real.trials == 0) {
    return {.rows = run_selftest(options.quick ? kQuickSelftest : kFullSelftest, options.seed)};
  }
  Interruption interruption;
  auto real = options.real;
  real.ab.seed = options.seed;
  return run_real_trials(real, context, interruption);
}

ExitCode run(const SelftestOptions& options, const CommandContext& context) {
  if (!options.series.empty()) {
    const auto count = export_series(options.series, {.seed = options.seed});
    reports::print("{} series in {}\n", count, options.series.string());
    return ExitCode::fine;
  }
  auto db = open_database(options.real.ab.db);  // reports at once if the results could not be stored
  const auto [results, cancelled] = measure(options, context);
  const auto code = cancelled ? ExitCode::failure : ExitCode::fine;
  if (cancelled) reports::print(stderr, "cancelled; these are the results of the comparisons that were finished\n");
  store_selftest(db,
                 {.date_utc = utc_now(), .version = std::string(build_info::current().version), .seed = options.seed},
                 results);
  const auto* remark = options.real.trials > 0 ? ", on this machine"
                       : options.quick         ? ", quick: wide intervals; run it at full size for the goals"
                                               : "";
  const auto title =
      fmt::format("perfbench {} selftest, seed {}{}", build_info::current().version, options.seed, remark);
  print_document(reports::selftest_document(title, results), options.format, options.layout);
  return code;
}

void add_real_options(CLI::App& command, RealTrials& real) {
  const char* group = "Real runs instead of simulated ones";
  auto* trials = add_number(command, "--real", real.trials, Bounds<std::size_t>{1, 10'000},
                            "number of comparisons of this engine with itself; every cell of each is a trial")
                     ->group(group);
  command.add_option("--inject", real.faults, "a fault in side B, for as many more comparisons; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  add_matrix_options(command, real.ab.matrix, MatrixFile::optional);
  add_execution_options(command, real.ab.execution);
  real.ab.matrix.file = "matrices/quickstart.yaml";
  real.ab.pairs = 8;
  add_number(command, "--pairs", real.ab.pairs, Bounds<std::size_t>{8, 64},
             "most pairs of a comparison")  // fewer cannot name a difference
      ->capture_default_str()
      ->group(group);
  add_pairing_option(command, real.ab)->group(group);
  for (const auto* name :
       {"file", "--only", "--set", "--timeout", "--memory-limit", "--inject", "--pairs", "--pairing"}) {
    command.get_option(name)->needs(trials);
  }
  for (const auto* name : {"--quick", "--export-series"}) trials->excludes(command.get_option(name));
}

}  // namespace

void add_selftest(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("selftest", "Measures the error rates of perfbench's own verdicts");
  auto options = std::make_shared<SelftestOptions>();
  command->add_flag("--quick", options->quick, "a smaller simulation, under a minute");
  add_number(*command, "--seed", options->seed, Bounds<std::uint64_t>{0, std::uint64_t{1} << 52U},
             "the same seed gives the same simulation, and the same order of real pairs")
      ->capture_default_str();
  add_output_options(*command, options->format, reports::DocumentFormat::markdown, options->layout,
                     "text (for a terminal), markdown, csv, json, html or svg");
  add_db_option(*command, options->real.ab.db, "database that stores the table");
  add_path(*command, "--export-series", options->series, PathIs::folder,
           "write the simulated series to this folder instead");
  command->footer(
      "Simulates pairs of runs and nightly series with seven kinds of noise, and counts how often the paired decision "
      "and\n"
      "the nightly screen are wrong, and how soon they are right. A missed goal is shown, but is not a failure.\n"
      "Examples:\n"
      "  perfbench selftest --quick\n"
      "  perfbench selftest --seed 7 --db perf.db > selftest.md\n"
      "  perfbench selftest --export-series series/\n"
      "  perfbench selftest --real 16 matrices/quickstart.yaml --inject slow:span=matmul,fraction=0.1\n"
      "Exit codes: 0 success, also with missed goals; 3 wrong input; 4 an engine failed, or cancelled.");
  add_real_options(*command, options->real);
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace perfbench::harness
