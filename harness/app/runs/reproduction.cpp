#include "harness/app/runs/reproduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "harness/app/runs/run_name.h"
#include "harness/evidence/environment_rows.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_metrics.h"
#include "harness/execute/interruption.h"
#include "harness/execute/sweep.h"
#include "harness/judge/comparability.h"
#include "harness/pairs/sides.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

using StepPlace = std::pair<std::int64_t, std::int64_t>;  // step, rank

std::map<StepPlace, const spec::StepRecord*> by_place(const RunEvidence& evidence) {
  std::map<StepPlace, const spec::StepRecord*> out;
  for (const auto& record : evidence.steps) out[{record.step, record.rank}] = &record;
  return out;
}

// Compares bits, so that two NaNs with the same bits are equal.
bool same_bits(double left, double right) {
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

std::optional<NumberDifference> difference_of(const spec::StepRecord& recorded, const spec::StepRecord& repeated) {
  const auto at = [&](const char* number, double was, double is) {
    return NumberDifference{recorded.step, recorded.rank, number, was, is};
  };
  if (!same_bits(recorded.loss, repeated.loss)) return at("loss", recorded.loss, repeated.loss);
  if (!same_bits(recorded.grad_norm, repeated.grad_norm)) {
    return at("grad_norm", recorded.grad_norm, repeated.grad_norm);
  }
  const auto was = recorded.peak.total_bytes;
  const auto is = repeated.peak.total_bytes;
  if (was != is) return at("peak.total_bytes", static_cast<double>(was), static_cast<double>(is));
  return std::nullopt;
}

std::optional<NumberDifference> first_difference(const RunEvidence& recorded, const RunEvidence& repeated) {
  const auto others = by_place(repeated);
  for (const auto& [place, record] : by_place(recorded)) {
    const auto other = others.find(place);
    if (other == others.end()) continue;
    if (auto found = difference_of(*record, *other->second)) return found;
  }
  return std::nullopt;
}

std::map<std::string, std::string> facts_of(const RunEvidence& evidence) {
  if (!evidence.environment) return {};
  const auto facts = environment_rows(*evidence.environment).facts;
  return {facts.begin(), facts.end()};
}

std::optional<double> step_time_s(const RunEvidence& evidence) {
  for (const auto& [metric, value] : run_metrics(evidence.run, evidence.steps, evidence.summary)) {
    if (metric == "step_time_s") return value;
  }
  return std::nullopt;
}

}  // namespace

Reproduction hold_against(const RunEvidence& recorded, const RunEvidence& repeated) {
  return {.recorded_state = recorded.attempt.state,
          .repeated_state = repeated.attempt.state,
          .recorded_steps = std::ssize(recorded.steps),
          .repeated_steps = std::ssize(repeated.steps),
          .first_difference = first_difference(recorded, repeated),
          .environment = environment_difference(facts_of(recorded), facts_of(repeated)),
          .recorded_step_time_s = step_time_s(recorded),
          .repeated_step_time_s = step_time_s(repeated)};
}

namespace fs = std::filesystem;
namespace {

RunEvidence evidence_of(const fs::path& attempt) {
  auto evidence = read_run_directory(attempt);
  if (!evidence) throw InputError(fmt::format("[reproduce] {}: the attempt was interrupted", attempt.string()));
  return *std::move(evidence);
}

Cell cell_of(const RunEvidence& recorded) {
  return {.matrix = recorded.attempt.matrix,
          .axes = {recorded.attempt.axes.begin(), recorded.attempt.axes.end()},
          .label = recorded.attempt.cell,
          .run = recorded.run,
          .run_id = recorded.attempt.run_id};
}

void refuse_unexecuted(const fs::path& folder, const AttemptRecord& attempt) {
  if (attempt.state != AttemptState::excluded && attempt.state != AttemptState::infeasible) return;
  throw InputError(fmt::format("[reproduce] {}: {} ({}): it was never executed", folder.string(),
                               spec::enum_name(attempt.state), attempt.reason));
}

SweepHooks reproduction_hooks(const fs::path& db) {
  const auto store = [db](const fs::path& attempt) {
    if (db.empty()) return std::string();
    auto connection = open_database(db);
    const auto outcome = ingest_run_directory(connection, attempt);
    return outcome.spoiled ? outcome.damage : std::string();
  };
  return {.plan = [](const Cell&) { return CellPlan{}; },
          .store = store,
          .stored = [](const std::string&, const std::string&, AttemptState) { return std::int64_t{0}; }};
}

}  // namespace

ReproduceOutcome reproduce_run(const ReproduceRequest& request, const Installation& installation,
                               Interruption& interruption) {
  const RunPlaces places{.db = request.db.empty() ? fs::path("perf.db") : request.db};
  ReproduceOutcome out{.recorded = find_run_folder(places, request.recorded, "reproduce")};
  const auto recorded = evidence_of(out.recorded);
  refuse_unexecuted(out.recorded, recorded.attempt);
  const auto runs = request.runs.empty() ? out.recorded.parent_path().parent_path() : request.runs;
  auto settings = execution_settings(request.execution, SweepKind::reproduction, runs, installation);
  out.faults = injected_faults(recorded.attempt.command);
  if (!out.faults.empty()) {
    const auto faulty = faulty_side(out.faults, installation.engine);
    settings.launcher.engine = faulty.engine;
    settings.launcher.engine_arguments = faulty.engine_arguments;
  }
  settings.engine_sha256 = engine_sha256(settings.launcher.engine.file);
  if (recorded.environment) {  // different sums give different bits
    settings.launcher.cores = recorded.environment->threads_per_rank * recorded.environment->ranks;
  }
  const auto summary =
      run_sweep({cell_of(recorded)}, {.execution = settings}, reproduction_hooks(request.db), interruption);
  out.cancelled = summary.cancelled || summary.attempts.empty();
  if (out.cancelled) return out;
  out.repeated = summary.attempts.front().directory;
  out.found = hold_against(recorded, evidence_of(out.repeated));
  out.store_error = summary.store_error;
  return out;
}

}  // namespace perfbench::harness
