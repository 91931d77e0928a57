// perfbench compare: compares the newest runs of each cell with a baseline, or two sides in pairs of new runs (--ab).
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "harness/app/execution.h"
#include "harness/app/pairs/ab_comparison.h"
#include "harness/app/pairs/ab_preparation.h"
#include "harness/app/runs/baseline_judgement.h"
#include "harness/app/runs/stored_tables.h"
#include "harness/app/sweep/checks.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/reading_options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/execute/interruption.h"
#include "harness/judge/baseline_findings.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "reports/content/ab_report.h"
#include "reports/render/format/print.h"
#include "reports/views/store_views.h"

namespace perfbench::harness {

namespace {

// Where nobody said how many pairs: a comparison of short runs may take this long.
constexpr double kMorePairsWithinS = 60;

struct CompareOptions {
  std::filesystem::path db = "perf.db";
  std::string selection = "latest";
  reports::DocumentFormat format = reports::DocumentFormat::text;
  bool format_given = false;
  LayoutOptions layout;
  AgainstRequest request;
  std::vector<std::string> sides;  // --ab: two sides, or empty
  AbOptions ab;
  ReadingOptions reading;
  bool gate = false;
};

bool is_for_programs(reports::DocumentFormat format) {
  return format == reports::DocumentFormat::json || format == reports::DocumentFormat::csv;
}

ExitCode compare_pairs(CompareOptions& options, const CommandContext& context) {
  options.ab.db = options.db;
  const bool of_commands = std::any_of(options.sides.begin(), options.sides.end(),
                                       [](const std::string& side) { return side.starts_with("cmd:"); });
  if (options.ab.matrix.file.empty() && !of_commands) {
    throw InputError("[compare] --ab A B needs a matrix: compare --ab A B FILE");
  }
  if (!options.ab.matrix.file.empty() && of_commands) {
    throw InputError("[compare] sides cmd: have no matrix: leave FILE out");
  }
  if (!options.ab.matrix.program.program.empty() && of_commands) {
    throw InputError("[compare] sides cmd: are programs themselves: leave --program out");
  }
  add_reading(options.reading, options.ab.program);
  const auto rule = options.ab.rule();  // throws if it is invalid
  if (const auto fewest = pairs_lacking(rule); options.gate && fewest) {
    throw InputError(
        fmt::format("[compare] --gate with --pairs {}: they cannot name a difference at p < {}, which takes {}",
                    options.ab.pairs, rule.alpha, *fewest));
  }
  auto a = named_side(options.sides[0], options.ab, context);
  auto b = named_side(options.sides[1], options.ab, context);
  check_before_building(a, b, options.ab, context);
  if (!options.layout.output.empty()) require_writable_file("[compare] --output", options.layout.output);
  if (!options.layout.html.empty()) require_writable_file("[compare] --html", options.layout.html);
  Interruption interruption;
  a = ready_side(std::move(a), options.ab, interruption);
  b = ready_side(std::move(b), options.ab, interruption);
  auto outcome = compare_sides(a, b, options.ab, AbPurpose::compare, context, interruption);
  if (outcome.cancelled) {
    reports::print(stderr, "cancelled{}\n", options.ab.detection ? "" : "; `--resume` continues it");
    return ExitCode::failure;
  }
  auto& report = outcome.report;
  if (options.gate) report.gate_refusals = gate_refusals(report.cells, rule);
  // By default, Markdown in a file or a pipe.
  const bool as_said = options.format_given || reports::is_terminal(stdout);
  print_document(reports::ab_document(report), as_said ? options.format : reports::DocumentFormat::markdown,
                 options.layout);
  return exit_code_of(overall(verdicts_of(report.cells)));
}

// A comparison is still possible with a database that cannot be written.
void record_judgement(const CompareOptions& options, const Connection& db, const ComparedCells& compared,
                      const std::optional<Baseline>& entry) {
  BaselineJudgement about{
      .judgement_id = new_sweep_id(), .selection = options.selection, .entry = entry, .baseline = {}};
  if (entry) about.baseline = group_by_subject(load_attempts(db, entry->attempt_keys));
  try {
    auto writer = open_database(options.db);
    add_judgement(writer, judgement_of(about, compared.cells, compared.comparisons, compared.request));
    reports::print(stderr, "note: the basis of this verdict: perfbench show verdict:{}\n", about.judgement_id);
  } catch (const std::runtime_error& e) {
    reports::print(stderr, "note: the basis of this verdict is not recorded: {}\n", e.what());
  }
}

// Puts the metrics of a gate in place of the word, also in a list.
void replace_gate(std::vector<std::string>& metrics, const std::vector<CellRuns>& cells) {
  const auto gate = std::find(metrics.begin(), metrics.end(), "gate");
  if (gate == metrics.end()) return;
  auto all = gate_metrics(cells);
  for (const auto& metric : metrics) {
    if (metric != "gate" && std::find(all.begin(), all.end(), metric) == all.end()) all.push_back(metric);
  }
  metrics = std::move(all);
}

ExitCode compare(CompareOptions& options, const CommandContext& context) {
  if (!options.sides.empty()) return compare_pairs(options, context);
  if (options.request.baseline.empty()) {
    throw InputError("[compare] a baseline is missing: give --baseline NAME or --ab A B FILE");
  }
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  const auto stored = stored_cells(db, options.selection);
  if (!stored.left_out.empty()) reports::print(stderr, "note: {}\n", stored.left_out);
  auto& metrics = options.request.metrics;
  replace_gate(metrics, stored.cells);
  const auto compared = compare_cells(db, stored.cells, parse_selection(options.selection), options.request, context);
  const auto& found = compared.comparisons;
  const auto& baseline = options.request.baseline;
  print_document(reports::comparison_view(compared, baseline), options.format, options.layout);
  const auto entry = find_baseline(db, baseline, compared.request.now_utc);
  record_judgement(options, db, compared, entry);
  if (entry) {
    const auto refresh = refresh_after_improvement(found, *entry, options.selection);
    // Not part of the output for programs, because it is for people.
    auto* out = is_for_programs(options.format) ? stderr : stdout;
    if (refresh) reports::print(out, "\n{}\n  {}\n", refresh->what, refresh->command);
  }
  return tell_left_out(db, exit_code_of(overall(verdicts_of(found))));
}

constexpr const char* kAbGroup = "Two sides in pairs (--ab)";

// Refuses options that would have no effect: those of one way to compare together with the other way.
void keep_apart(CLI::App& command, const std::vector<CLI::Option*>& of_stored_runs, CLI::Option* ab) {
  for (auto* option : command.get_options()) {
    const bool stored = std::find(of_stored_runs.begin(), of_stored_runs.end(), option) != of_stored_runs.end();
    if (option == ab || stored) continue;
    option->needs(ab);
  }
  for (const auto* name : {"--baseline", "--sweep", "--metric", "--definition"}) ab->excludes(command.get_option(name));
}

void add_pair_options(CLI::App& command, CompareOptions& options) {
  const auto of_stored_runs = command.get_options();
  auto* ab =
      command
          .add_option(
              "--ab", options.sides,
              "two sides to run: a git revision (rev:NAME if the name means something else too), a "
              "perfbench-engine or a folder with bin/perfbench-engine, "
              "set:KEY=VALUE,... , inject:FAULT (to test whether it is found), current, cmd:COMMAND (any "
              "training program); for a matrix with a program also env:NAME=VALUE,... or image:NAME (its container)")
          ->expected(2)
          ->allow_extra_args(false)
          ->type_name("A B")
          ->check(CLI::Validator(
              [](const std::string& side) { return side.empty() ? path_complaint(side, PathIs::either) : ""; }, ""))
          ->group(kAbGroup);
  add_matrix_options(command, options.ab.matrix, MatrixFile::optional);
  add_program_options(command, options.ab.matrix.program);
  add_reading_options(command, options.reading, "--read-metric");
  add_execution_options(command, options.ab.execution);
  add_launch_options(command, options.ab.execution.launch);
  add_ab_options(command, options.ab, kAbGroup);
  command.add_flag("--resume", options.ab.resume, "continue the interrupted comparison of the same sides and cells")
      ->excludes(command.get_option("--detect"))  // with --detect the plan would differ
      ->group(kAbGroup);
  command
      .add_flag("--gate", options.gate,
                "say whether a gate passes; it is refused if a difference of the margin could have been missed")
      ->group(kAbGroup);
  keep_apart(command, of_stored_runs, ab);
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("compare", "Compares the newest runs of each cell with a baseline, or two sides in pairs");
  auto options = std::make_shared<CompareOptions>();
  add_db_option(*command, options->db, "database");
  command
      ->add_option("--baseline", options->request.baseline,
                   "a name of `perfbench baseline list`, published:SYSTEM/ID, run:ID, attempt:ID/N, the start of a run "
                   "id, or a sweep's id")
      ->check(published_check(context));
  command
      ->add_option("--sweep", options->selection,
                   "runs to compare: latest, all, a sweep's id, run:ID, attempt:ID/N; add @SUBJECT to select a subject")
      ->check(selection_complaint)
      ->capture_default_str();
  command
      ->add_option(
          "--metric", options->request.metrics,
          "metrics of the catalog or of the program, several with commas; gate stands for speed, memory, start-up "
          "and loss, and for what a program declares")
      ->delimiter(',')
      ->type_name("METRIC")
      ->capture_default_str();
  add_enum_option(*command, "--definition", options->request.definition, "definition of the FLOPs for MFU");
  add_output_options(*command, options->format, reports::DocumentFormat::text, options->layout,
                     "text (for a terminal), markdown, csv, json, html or svg");
  add_pair_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  perfbench compare --db perf.db --baseline main\n"
      "  perfbench compare --db perf.db --baseline published:maxtext/llama2-7b-8xh100\n"
      "  perfbench compare --db perf.db --baseline run:1f6c0d2a --metric peak_memory_bytes\n"
      "  perfbench compare --db perf.db --baseline main --metric gate\n"
      "  perfbench compare --ab HEAD~1 HEAD matrices/quickstart.yaml --pairs 8\n"
      "  perfbench compare --ab current set:attention=dot_product,remat=full matrices/llama.yaml --gate\n"
      "  perfbench compare --ab current inject:slow:span=matmul,fraction=0.1 matrices/quickstart.yaml\n"
      "  perfbench compare --ab HEAD~1 HEAD matrices/quickstart.yaml --detect 2% --within 10m\n"
      "  perfbench compare --ab 'cmd:python3 train.py' 'cmd:python3 train.py --fused' --reader nanogpt\n"
      "  perfbench compare --ab /opt/old /opt/new matrices/quickstart.yaml --only model=gpt-mini --format json\n"
      "A verdict is given for each cell, from whole process runs: REGRESSED, IMPROVED, SAME, INCONCLUSIVE, "
      "NOT_COMPARABLE.\n"
      "To judge speed against stored runs of another session, perfbench needs at least five other sessions of the "
      "same\n"
      "cell on this machine, on other days, that cover as many days as lie between the sides. Otherwise the verdict "
      "is\n"
      "INCONCLUSIVE and names the --ab command that decides.\n"
      "A cell that diverged now but not in the baseline is REGRESSED in every metric.\n"
      "With --ab both sides run in new processes, in pairs of random order; spoiled pairs are discarded.\n"
      "Exit codes: 0 no regression; 1 a cell regressed; 2 a cell is inconclusive (a --gate is refused), or no cell is\n"
      "comparable; 3 wrong input, or no regression, but a row of the database cannot be read; 4 a revision cannot be "
      "built, or the comparison was cancelled.");
  command->callback([options, command, &context] {
    options->format_given = command->count("--format") > 0;
    if (command->count("--pairs") == 0) options->ab.more_pairs_within_s = kMorePairsWithinS;
    context.exit_code = compare(*options, context);
  });
}

}  // namespace perfbench::harness
