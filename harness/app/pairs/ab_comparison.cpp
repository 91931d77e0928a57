#include "harness/app/pairs/ab_comparison.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/app/pairs/ab_preparation.h"
#include "harness/app/pairs/detection.h"
#include "harness/app/sweep/checks.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/attempt_execution.h"
#include "harness/execute/interruption.h"
#include "harness/judge/program_rules.h"
#include "harness/matrix/model_catalog.h"
#include "harness/pairs/ab_run.h"
#include "harness/pairs/instruction_counter.h"
#include "harness/pairs/side_execution.h"
#include "harness/plan/kept_weights.h"
#include "harness/stats/detection.h"
#include "harness/stats/pairs.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "harness/system/sha256.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// Asks one side's engine about its cells, before anything runs.
class Preflight {
 public:
  Preflight(std::vector<AbCell>& cells, const ModelCatalog& catalog, int cancel_fd)
      : cells_(cells), catalog_(catalog), cancel_fd_(cancel_fd), obstacles_(cells.size()) {
    for (auto& side : memory_) side.resize(cells.size());
  }

  // `where`: a node elsewhere is not asked for its devices.
  void ask(Side side, const AbSide& what, RunsWhere where) {
    std::vector<std::size_t> asked;
    std::vector<Cell> runs;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].not_comparable) continue;
      asked.push_back(i);
      runs.push_back(cells_[i].of(side));
    }
    RunnableCheck here(what.engine, cancel_fd_);
    const auto planned =
        plan_cells(std::move(runs), {.engine = what.engine, .catalog = &catalog_, .cancel_fd = cancel_fd_});
    refuse_if_nothing_is_understood(planned, side, what);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      cells_[asked[i]].of(side) = planned[i].cell;
      memory_[static_cast<std::size_t>(side)][asked[i]] = memory_of(planned[i]);
      auto reason = obstacle(planned[i], where, here);
      if (!reason) continue;
      obstacles_[asked[i]].push_back(fmt::format("{} does not run it: {}", spec::enum_name(side), *reason));
    }
  }

  // Removes cells that neither side runs. Returns the needs of the others, by side and cell.
  SidesMemory apply() {
    std::vector<AbCell> kept;
    SidesMemory memory;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (obstacles_[i].size() == 2) {
        reports::print(stderr, "note: left out, {}: {}\n", obstacles_[i].front(), cells_[i].label);
        continue;
      }
      if (!obstacles_[i].empty()) cells_[i].not_comparable = obstacles_[i].front();
      choose_alike(cells_[i]);
      kept.push_back(std::move(cells_[i]));
      for (const std::size_t side : {0U, 1U}) memory[side].push_back(memory_[side][i]);
    }
    if (kept.empty()) throw InputError("[compare] neither side can run any of these cells here");
    cells_ = std::move(kept);
    return memory;
  }

 private:
  static std::optional<std::string> obstacle(const PlannedCell& planned, RunsWhere where, RunnableCheck& here) {
    if (planned.state != PlanState::feasible) return planned.reason;
    if (auto reason = why_launch_file(planned.cell, where)) return reason;
    const bool is_checked = where == RunsWhere::here && !planned.cell.run.program;  // a program itself reports more
    return is_checked ? here.obstacle(planned) : std::nullopt;
  }

  // If the plan of only one engine has room for kept weights, both cast them, so that the sides differ only in their
  // engines.
  static void choose_alike(AbCell& cell) {
    const bool open = cell.a.bf16_weights_open && cell.b.bf16_weights_open;
    if (!open || cell.a.run.bf16_weights == cell.b.run.bf16_weights) return;
    cast_bf16_weights(cell.a);
    cast_bf16_weights(cell.b);
  }

  static void refuse_if_nothing_is_understood(const std::vector<PlannedCell>& planned, Side side, const AbSide& what) {
    const bool none = !planned.empty() && std::all_of(planned.begin(), planned.end(), [](const PlannedCell& cell) {
      return cell.state == PlanState::failed;
    });
    if (!none) return;
    throw InputError(
        fmt::format("[compare] {} ({}): its engine understands none of these runs: {}; an older engine does not know "
                    "newer fields: leave them at their defaults, or compare later revisions",
                    spec::enum_name(side), what.asked, planned.front().reason));
  }

  std::vector<AbCell>& cells_;
  const ModelCatalog& catalog_;
  const int cancel_fd_;
  std::vector<std::vector<std::string>> obstacles_;
  SidesMemory memory_;
};

std::string identity(const AbSide& side) {
  const auto digest = engine_sha256(side.engine.file);
  auto out = fmt::format("{} {}", spec::enum_name(side.kind), digest.empty() ? side.engine.file.string() : digest);
  if (side.program) out += " commit " + side.commit;
  for (const auto& words : side.set) out += " " + words;
  if (!side.engine.libraries.empty()) out += " libraries " + side.engine.libraries.filename().string();
  for (const auto& words : side.engine_arguments) out += " " + words;
  return out;
}

// Comparisons with equal texts may continue with each other's pairs.
std::string settings_of(const std::vector<AbCell>& cells, const AbRule& rule, double more_pairs_within_s,
                        AbPurpose purpose, const AbSide& a, const AbSide& b) {
  auto text = fmt::format("{}\n{}\n{}\n{} {} {} {} {} {} {}\n", spec::enum_name(purpose), identity(a), identity(b),
                          rule.looks.back(), more_pairs_within_s, rule.most_discarded, rule.spoil.most_probe_spread,
                          rule.spoil.most_probe_shift, rule.spoil.most_steal, rule.spoil.most_foreign);
  for (const auto& metric : rule.metrics) text += fmt::format("{} {}\n", metric.metric, metric.margin_fraction);
  for (const auto& cell : cells) text += fmt::format("{} {} {}\n", cell.a.run_id, cell.b.run_id, cell.in_turns);
  return sha256_hex(text);
}

ExecutionSettings execution_of(const AbOptions& options, const Installation& installation, int cancel_fd) {
  auto settings =
      execution_settings(options.execution, SweepKind::comparison, runs_folder(options.runs, options.db), installation);
  settings.cancel_fd = cancel_fd;
  settings.only = options.matrix.only_words();
  return settings;
}

ComparisonRecord comparison_for(Connection& db, const AbOptions& options, ComparisonRecord fresh) {
  const auto earlier = options.resume ? unfinished_comparison(db, fresh.settings) : std::nullopt;
  if (earlier && (!options.seed || *options.seed == earlier->seed)) {
    fresh.key = earlier->key;
    fresh.comparison_id = earlier->comparison_id;
    fresh.seed = earlier->seed;
    return fresh;
  }
  if (options.resume)
    reports::print(stderr, "note: no unfinished comparison of these sides and cells; a new one begins\n");
  begin_comparison(db, fresh);
  return fresh;
}

// Stores run directories that were complete when an earlier command was killed. They do not count in any pair, because
// the observations made during their runs are lost.
void take_in_leftovers(Connection& db, const fs::path& runs, const std::vector<AbCell>& cells) {
  std::set<std::string> run_ids;
  for (const auto& cell : cells) run_ids.insert({cell.a.run_id, cell.b.run_id});
  for (const auto& run_id : run_ids) {
    for (const auto& attempt : list_attempts(runs, run_id)) {
      try {
        ingest_run_directory(db, attempt.path);
      } catch (const InputError& e) {
        reports::print(stderr, "note: not stored in the database: {}\n", e.what());
      }
    }
  }
}

AbHooks hooks_for(SideExecution& execution, std::int64_t comparison, std::uint64_t seed,
                  const std::vector<AbCell>& cells, AbProgress& progress, Interruption& interruption) {
  return {
      .run = [&execution](const AbCell& cell, Side side) { return execute_side(execution, cell, side); },
      .run_in_turns = [&execution, seed](const AbCell& cell,
                                         ExecutedPair& pair) { execute_in_turns(execution, cell, seed, pair); },
      .record = [&execution, comparison, &cells](
                    const ExecutedPair& pair) { add_pair(*execution.db, comparison, cells[pair.cell].label, pair); },
      .cancelled = [&interruption] { return interruption.take(); },
      .on_begin = [&progress,
                   &cells](const ExecutedPair& pair) { progress.begin(pair, cells[pair.cell].label, cells.size()); },
      .on_end = [&progress](const ExecutedPair& pair,
                            const std::vector<CellVerdict>& verdicts) { progress.end(pair, verdicts); }};
}

// The time of a pair says nothing about which side is slower, so the planned looks keep their level. No more pairs are
// replaced than before: on a machine that spoils many, the comparison ends at an earlier look.
AbRule rule_for(double round_s, const AbOptions& options, AbRule rule, AbProgress& progress) {
  const auto pairs = options.pairs_for(round_s);
  if (pairs == options.pairs) return rule;
  rule.looks = looks_up_to(pairs);
  progress.set_looks(rule.looks);
  progress.say(fmt::format("a round of pairs takes {}: up to {} pairs each", reports::format_duration(round_s), pairs));
  return rule;
}

bool differs_in_speed(const CellVerdict& cell) {
  return std::any_of(cell.metrics.begin(), cell.metrics.end(), [](const MetricVerdict& metric) {
    const auto verdict = metric.decided.decision.verdict;
    return metric.rule.metric == "step_time_s" && (verdict == Verdict::regressed || verdict == Verdict::improved);
  });
}

void attribute_differences(const SideExecution& execution, const std::vector<AbCell>& cells, AbResult& result,
                           AbProgress& progress) {
  for (std::size_t i = 0; i < cells.size() && !result.cancelled; ++i) {
    auto& verdict = result.cells[i];
    if (!differs_in_speed(verdict) || cells[i].a.run.program) continue;  // a program traces no steps
    progress.say("tracing both sides once more: " + verdict.label);
    auto traced = trace_pair(execution, cells[i]);
    result.cancelled = traced.cancelled;
    verdict.attribution = std::move(traced.attribution);
    if (!traced.problem.empty()) verdict.notes.push_back("the cause of the difference is unknown: " + traced.problem);
  }
}

}  // namespace

AbOutcome compare_sides(const AbSide& a, const AbSide& b, const AbOptions& options, AbPurpose purpose,
                        const Installation& installation, Interruption& interruption) {
  const ModelCatalog catalog(installation.data_dir());
  const auto own_jobs =
      options.execution.remote == nullptr ? remote_sessions(options.execution.launch, interruption) : nullptr;
  RemoteExecution* const remote = own_jobs ? own_jobs.get() : options.execution.remote;
  const auto where = runs_where(remote);
  auto rule = options.rule();
  auto matrix = pair_matrix(a, b, options, catalog, installation);
  for (const auto& notice : matrix.notices) reports::print(stderr, "note: {}\n", notice);
  auto& cells = matrix.cells;
  const auto& program = cells.front().a.run.program;
  if (program && options.metrics.empty() && !options.detection) {
    rule.metrics = with_margins(program_rules(program->spec), options.margins);
  }
  Preflight preflight(cells, catalog, interruption.fd());
  preflight.ask(Side::a, a, where);
  preflight.ask(Side::b, b, where);
  choose_pairing(cells, a, b, remote != nullptr ? Pairing::apart : options.pairing, preflight.apply(),
                 interruption.fd());
  for (auto& cell : cells) {
    if (remote != nullptr) cell.apart_because = "--launcher " + options.execution.launch.launcher;
  }

  auto db = open_database(options.db);
  if (options.resume) take_in_leftovers(db, runs_folder(options.runs, options.db), cells);
  const auto counter = hardware_instruction_counter();
  SideExecution execution{.db = &db,
                          .settings = execution_of(options, installation, interruption.fd()),
                          .a = a,
                          .b = b,
                          .engines_sha256 = {engine_sha256(a.engine.file), engine_sha256(b.engine.file)},
                          .instructions = counter.get()};
  execution.settings.remote = remote;
  const auto seed = options.seed ? *options.seed : new_seed();
  AbProgress progress(stderr, SweepProgress::style_of(stderr), rule.looks);
  if (options.detection) {
    const auto planned = plan_pairs(cells, *options.detection, execution, seed, progress, interruption);
    if (planned.cancelled) return {.report = {}, .cancelled = true};
    rule.looks = detection_looks(planned.pairs);
    progress.set_looks(rule.looks);
  }
  const auto comparison =
      comparison_for(db, options,
                     {.comparison_id = execution.settings.sweep_id,
                      .purpose = purpose,
                      .matrix = matrix.name,
                      .settings = settings_of(cells, rule, options.more_pairs_within_s, purpose, a, b),
                      .seed = seed,
                      .a = record_of(a, Side::a, execution.engines_sha256[0]),
                      .b = record_of(b, Side::b, execution.engines_sha256[1])});
  execution.settings.sweep_id = comparison.comparison_id;
  auto done = load_pairs(db, comparison.key);
  progress.say(fmt::format("A {} against B {}, {} cells, at most {} pairs each, seed {}{}", a.asked, b.asked,
                           cells.size(), rule.looks.back(), comparison.seed,
                           done.empty() ? "" : fmt::format(", {} pairs done before", done.size())));
  if (const auto fewest = pairs_lacking(rule)) {
    progress.say(
        fmt::format("{} pairs cannot name a difference of a metric with noise at p < {}: that takes --pairs {}",
                    rule.looks.back(), rule.alpha, *fewest));
  }
  auto hooks = hooks_for(execution, comparison.key, comparison.seed, cells, progress, interruption);
  // In a job, a pair takes longer than its runs.
  if (options.more_pairs_within_s > 0 && !options.detection && remote == nullptr) {
    hooks.rule_after_first_round = [&](double round_s) { return rule_for(round_s, options, rule, progress); };
  }
  auto result = run_pairs(cells, rule, comparison.seed, hooks, std::move(done));
  const bool only_the_verdict_counts = purpose == AbPurpose::bisect || purpose == AbPurpose::selftest;
  if (!only_the_verdict_counts) attribute_differences(execution, cells, result, progress);
  if (!result.cancelled) finish_comparison(db, comparison, result.cells, result.rule);
  return {
      .report = {.comparison = comparison, .cells = result.cells, .instructions_unavailable = counter->unavailable()},
      .cancelled = result.cancelled};
}

}  // namespace perfbench::harness
