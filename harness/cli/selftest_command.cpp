// perfbench selftest: the error rates of perfbench's own verdicts, measured.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/enum_option.h"
#include "harness/run/utc.h"
#include "harness/selftest/ledger.h"
#include "harness/selftest/selftest.h"
#include "harness/selftest/series_export.h"
#include "harness/store/database.h"
#include "reports/selftest_text.h"

namespace perfbench::harness {

enum class SelftestFormat { markdown, csv };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::SelftestFormat> {
  using F = perfbench::harness::SelftestFormat;
  static constexpr std::array kNames{std::pair{F::markdown, "markdown"}, std::pair{F::csv, "csv"}};
};

namespace perfbench::harness {
namespace {

struct SelftestOptions {
  bool quick = false;
  std::uint64_t seed = 1;
  SelftestFormat format = SelftestFormat::markdown;
  std::filesystem::path db = "perf.db";
  std::filesystem::path series;  // empty: measure
};

void run(const SelftestOptions& options) {
  if (!options.series.empty()) {
    const auto count = export_series(options.series, {.seed = options.seed});
    fmt::print("{} series in {}\n", count, options.series.string());
    return;
  }
  auto db = open_database(options.db);  // before the work: what cannot be kept is said at once
  const auto results = run_selftest(options.quick ? kQuickSelftest : kFullSelftest, options.seed);
  store_selftest(db, {.date_utc = utc_now(), .version = PERFBENCH_VERSION, .seed = options.seed}, results);
  if (options.format == SelftestFormat::csv) {
    fmt::print("{}", reports::selftest_csv(results));
    return;
  }
  fmt::print("perfbench {} selftest, seed {}{}\n\n{}", PERFBENCH_VERSION, options.seed,
             options.quick ? ", quick: wide intervals, for the goals run it at full size" : "",
             reports::selftest_markdown(results));
}

}  // namespace

void add_selftest(CLI::App& app, CommandContext& /*context*/) {
  auto* command = app.add_subcommand("selftest", "The error rates of perfbench's own verdicts, measured");
  auto options = std::make_shared<SelftestOptions>();
  command->add_flag("--quick", options->quick, "a smaller simulation, under a minute");
  command->add_option("--seed", options->seed, "the same seed gives the same table")->capture_default_str();
  add_enum_option(*command, "--format", options->format, "markdown or csv");
  command->add_option("--db", options->db, "database that keeps the table")->capture_default_str();
  command->add_option("--export-series", options->series, "write the simulated series to this folder instead");
  command->footer(
      "Simulates pairs of runs and nightly series of seven kinds of noise, and counts how often the paired decision "
      "and\n"
      "the nightly screen are wrong, and how soon they are right. A missed goal is shown and is no failure.\n"
      "Examples:\n"
      "  perfbench selftest --quick\n"
      "  perfbench selftest --seed 7 --db perf.db > selftest.md\n"
      "  perfbench selftest --export-series series/");
  command->callback([options] { run(*options); });
}

}  // namespace perfbench::harness
