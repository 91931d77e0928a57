#include "harness/app/reproduce_run.h"

#include <fmt/core.h>

#include <utility>

#include "harness/ab/sides.h"
#include "harness/app/run_name.h"
#include "harness/evidence/run_directory.h"
#include "harness/input_error.h"
#include "harness/run/interruption.h"
#include "harness/run/sweep.h"
#include "harness/store/database.h"
#include "harness/store/ingest.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

RunEvidence evidence_of(const fs::path& attempt) {
  auto evidence = read_run_directory(attempt);
  if (!evidence) throw InputError(fmt::format("[reproduce] {}: the attempt was cut off", attempt.string()));
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
  if (recorded.environment) {  // other sums give other bits
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
