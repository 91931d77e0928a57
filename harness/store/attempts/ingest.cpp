#include "harness/store/attempts/ingest.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/store/attempts/attempt_keys.h"
#include "harness/store/attempts/evidence_writer.h"
#include "harness/store/queries/names.h"
#include "harness/system/input_error.h"
#include "harness/trace/trace_summary.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// Throws if the database has the attempt with other contents.
bool is_present(Connection& db, const AttemptRecord& attempt, const std::string& sha256, const fs::path& directory) {
  const auto key = find_attempt(db, name_of(attempt));
  if (!key) return false;
  Statement known(db, "SELECT record_sha256 FROM attempts WHERE attempt_key = ?");
  known.with(*key).step();
  if (known.text(0) == sha256) return true;
  throw InputError("[ingest] " + (directory / kAttemptFile).string() + ":1 contradicts what " + db.path().string() +
                   " holds of attempt " + std::to_string(attempt.attempt) + " of run " + attempt.run_id.substr(0, 16) +
                   ", started " + attempt.started_utc + ": one of the two was modified; ingest into a new database");
}

struct TracedSteps {
  std::vector<TraceSummary> summaries;
  std::string problem;  // why there are none although the run should have traced some
};

// The timed steps are worth keeping, whatever is wrong with a trace.
TracedSteps traced_steps(const fs::path& directory, const RunEvidence& evidence) {
  TracedSteps traced;
  try {
    traced.summaries = summarise(read_traces(directory, evidence.run.mesh.devices()));
    const auto& run = evidence.run;
    if (traced.summaries.empty() && run.traces()) {
      const bool window = run.trace_steps == 0;
      traced.problem = "[trace] " + directory.string() + " holds no " + trace_file(0) + ", although the run's " +
                       (window ? "profile.steps is " + std::to_string(run.profile.steps)
                               : "trace_steps is " + std::to_string(run.trace_steps));
    }
  } catch (const std::exception& e) {
    traced.problem = e.what();
  }
  // An attempt that ended early is expected to have no trace.
  if (evidence.attempt.state != AttemptState::ok) traced.problem.clear();
  return traced;
}

// The folders that contain a run, finished or not, sorted by path.
std::vector<fs::path> run_directories(const fs::path& root) {
  std::error_code none;  // for example a cycle of links: there is nothing below it
  const auto holds_run = [&none](const fs::path& folder) {
    return fs::exists(folder / kRunFile, none) || fs::exists(folder / kAttemptFile, none);
  };
  std::vector<fs::path> out;
  if (holds_run(root)) out.push_back(root);
  for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied)) {
    if (entry.is_directory(none) && holds_run(entry.path())) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

IngestOutcome ingest_run_directory(Connection& db, const fs::path& directory) {
  const auto attempt = read_attempt(directory);
  if (!attempt) return {};
  if (is_present(db, *attempt, record_digest(*attempt), directory)) return {.ingested = Ingested::present};
  const auto evidence = read_run_directory(directory);
  if (!evidence) return {};
  const auto traced = traced_steps(directory, *evidence);
  Transaction transaction(db);
  // Checked again under the lock, because another process may have stored it meanwhile.
  if (is_present(db, evidence->attempt, evidence->record_sha256, directory)) return {.ingested = Ingested::present};
  add_evidence(db, *evidence, traced.summaries);
  transaction.commit();
  return {.ingested = Ingested::added,
          .step_rows = static_cast<std::int64_t>(evidence->steps.size()),
          .lost_step_lines = evidence->lost_step_lines,
          .trace_problem = traced.problem,
          .damage = evidence->damage.empty() ? "" : evidence->attempt.reason,
          .spoiled = evidence->attempt.state != evidence->recorded_state};
}

IngestReport ingest_tree(Connection& db, const fs::path& root) {
  if (!fs::is_directory(root)) throw InputError("[ingest] " + root.string() + " is not a folder");
  const auto directories = run_directories(root);
  if (directories.empty()) {
    throw InputError("[ingest] " + root.string() + " holds no run directory (a folder with " + kRunFile + ")");
  }
  IngestReport report;
  for (const auto& directory : directories) {
    try {
      const auto outcome = ingest_run_directory(db, directory);
      report.unfinished += outcome.ingested == Ingested::unfinished;
      report.present += outcome.ingested == Ingested::present;
      report.added += outcome.ingested == Ingested::added;
      report.step_rows += outcome.step_rows;
      report.lost_step_lines += outcome.lost_step_lines;
      if (outcome.spoiled) {
        report.problems.push_back(
            fmt::format("[ingest] {}: stored as crashed: {}", directory.string(), outcome.damage));
      } else if (!outcome.damage.empty()) {
        report.damaged.push_back(fmt::format("[ingest] {}: {}", directory.string(), outcome.damage));
      }
      if (!outcome.trace_problem.empty()) report.trace_problems.push_back(outcome.trace_problem);
    } catch (const InputError& e) {
      report.problems.emplace_back(e.what());
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::constraint) throw;  // an error of the database, and not of this directory
      report.problems.emplace_back("[ingest] " + directory.string() + ": " + e.what());
    }
  }
  return report;
}

SweepIngest ingest_sweep(Connection& db, const std::string& sweep_id, const EvidenceSource& next) {
  Transaction transaction(db);
  if (has_sweep(db, sweep_id)) return {.present = true};
  SweepIngest out;
  while (const auto evidence = next()) {
    add_evidence(db, *evidence, {});
    ++out.added;
    out.samples += static_cast<std::int64_t>(evidence->samples.size());
  }
  transaction.commit();
  return out;
}

}  // namespace perfbench::harness
