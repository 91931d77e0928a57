// perfbench compare: the newest runs of each cell against a baseline.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/enum_option.h"
#include "harness/cli/stored_cells.h"
#include "harness/compare/against.h"
#include "harness/compare/baseline_findings.h"
#include "harness/store/database.h"
#include "harness/store/utc.h"
#include "reports/comparison_text.h"

namespace perfbench::harness {

enum class ComparisonFormat { text, json };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::ComparisonFormat> {
  using F = perfbench::harness::ComparisonFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"}, std::pair{F::json, "json"}};
};

namespace perfbench::harness {
namespace {

struct CompareOptions {
  std::filesystem::path db = "perf.db";
  std::string selection = "latest";
  ComparisonFormat format = ComparisonFormat::text;
  AgainstRequest request;
};

ExitCode exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::regressed:
      return ExitCode::regression;
    case Verdict::improved:
    case Verdict::same:
      return ExitCode::fine;
    case Verdict::inconclusive:
    case Verdict::not_comparable:
      break;
  }
  return ExitCode::inconclusive;
}

ExitCode compare(CompareOptions& options, const CommandContext& context) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  const auto cells = split_by_machine(stored_cells(db, options.selection));
  options.request.now_utc = utc_now();
  auto& metrics = options.request.metrics;
  if (metrics == std::vector<std::string>{"gate"}) metrics.assign(kGateMetrics.begin(), kGateMetrics.end());
  const auto kind = parse_selection(options.selection).kind;
  const bool whole = kind == SelectionKind::latest_sweep || kind == SelectionKind::sweep;
  options.request.absent = whole ? AbsentCells::reported : AbsentCells::passed_over;
  const auto found =
      compare_against(db, PublishedCatalog(context.data_dir()), cells, hardware_of(cells, context), options.request);
  const auto& baseline = options.request.baseline;
  fmt::print("{}", options.format == ComparisonFormat::json ? reports::comparison_json(found, baseline)
                                                            : reports::comparison_text(found, baseline));
  if (const auto entry = find_baseline(db, baseline, options.request.now_utc)) {
    const auto refresh = refresh_after_improvement(found, *entry, options.selection);
    // Beside the JSON and not in it: it is for a person.
    auto* out = options.format == ComparisonFormat::json ? stderr : stdout;
    if (refresh) fmt::print(out, "\n{}\n  {}\n", refresh->what, refresh->command);
  }
  return exit_code_of(overall(found));
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("compare", "The newest runs of each cell against a baseline");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("--db", options->db, "database")->capture_default_str();
  command
      ->add_option("--baseline", options->request.baseline,
                   "a name of `perfbench baseline list`, published:SYSTEM/ID, run:ID, attempt:ID/N, the start of a run "
                   "id, or a sweep's id")
      ->required();
  command
      ->add_option("--sweep", options->selection, "what is compared: latest, all, a sweep's id, run:ID, attempt:ID/N")
      ->capture_default_str();
  command
      ->add_option("--metric", options->request.metrics,
                   "metrics of the catalog, several with commas; gate stands for speed, memory, start-up and loss")
      ->delimiter(',')
      ->capture_default_str();
  add_enum_option(*command, "--definition", options->request.definition, "FLOPs that MFU counts");
  add_enum_option(*command, "--format", options->format, "text or json");
  command->footer(
      "Examples:\n"
      "  perfbench compare --db perf.db --baseline main\n"
      "  perfbench compare --db perf.db --baseline published:maxtext/llama2-7b-8xh100\n"
      "  perfbench compare --db perf.db --baseline run:1f6c0d2a --metric peak_memory_bytes\n"
      "  perfbench compare --db perf.db --baseline main --metric gate\n"
      "A verdict is given per cell, from whole process runs: REGRESSED, IMPROVED, SAME, INCONCLUSIVE, NOT_COMPARABLE.\n"
      "Exit codes: 0 no regression; 1 a cell regressed; 2 a cell is inconclusive, or no cell is comparable.");
  command->callback([options, &context] { context.exit_code = compare(*options, context); });
}

}  // namespace perfbench::harness
