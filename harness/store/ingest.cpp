#include "harness/store/ingest.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/evidence/run_evidence.h"
#include "harness/input_error.h"
#include "harness/metrics/run_metrics.h"
#include "harness/store/columns.h"
#include "harness/store/environment_rows.h"
#include "harness/store/keys.h"
#include "harness/store/sweep_kinds.h"
#include "harness/trace/trace_summary.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// A value of flat_fields as a query wants it: text without its JSON quotes.
std::string plain(const std::string& json_value) {
  if (json_value.empty() || json_value.front() != '"') return json_value;
  return nlohmann::json::parse(json_value).get<std::string>();
}

std::int64_t run_key(Connection& db, const RunEvidence& evidence) {
  const auto& run = evidence.run;
  if (const auto known = find_key(db, "SELECT run_key FROM runs WHERE run_id = ?", evidence.attempt.run_id)) {
    return *known;
  }
  Statement(db,
            "INSERT INTO runs (run_id, model, device, hardware, precision, attention, remat, scan, seq_len, "
            "global_batch, grad_accum, steps, devices, dp, fsdp, tp, ep, pp, run_json) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(evidence.attempt.run_id, run.model.name, spec::enum_name(run.device), run.hardware,
           spec::enum_name(run.precision), spec::enum_name(run.attention), run.remat, std::int64_t{run.scan},
           run.seq_len, run.global_batch, run.grad_accum, run.steps, run.mesh.devices(), run.mesh.dp(), run.mesh.fsdp(),
           run.mesh.tp(), run.mesh.ep(), run.mesh.pp(), evidence.run_json);
  const auto key = db.last_insert_key();
  Statement insert(db, "INSERT INTO run_fields (run_key, name_key, value) VALUES (?, ?, ?)");
  for (const auto& [field, value] : spec::flat_fields(run)) insert.run(key, name_key(db, field), plain(value));
  return key;
}

std::int64_t sweep_key(Connection& db, const AttemptRecord& attempt) {
  Statement(db,
            "INSERT INTO sweeps (sweep_id, matrix, started_utc, kind) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (sweep_id) DO UPDATE SET started_utc = min(started_utc, excluded.started_utc), kind = " +
                surer_kind("kind", "excluded.kind"))
      .run(attempt.sweep_id, attempt.matrix, attempt.started_utc, spec::enum_name(attempt.sweep_kind));
  const auto key = *find_key(db, "SELECT sweep_key FROM sweeps WHERE sweep_id = ?", attempt.sweep_id);
  // Begun or resumed with --only, a sweep is one of a part, whatever its other attempts say.
  if (!attempt.only.empty()) {
    Statement(db,
              "INSERT INTO sweep_selections (sweep_key, selection) VALUES (?, ?) "
              "ON CONFLICT (sweep_key) DO UPDATE SET selection = min(selection, excluded.selection)")
        .run(key, attempt.only);
  }
  return key;
}

std::int64_t cell_key(Connection& db, const AttemptRecord& attempt, std::int64_t run) {
  const auto sql = "SELECT cell_key FROM cells WHERE matrix = ? AND label = ? AND run_key = ?";
  if (const auto known = find_key(db, sql, attempt.matrix, attempt.cell, run)) return *known;
  Statement(db, "INSERT INTO cells (matrix, label, run_key) VALUES (?, ?, ?)").run(attempt.matrix, attempt.cell, run);
  const auto key = db.last_insert_key();
  Statement axis(db, "INSERT INTO cell_axes (cell_key, axis, value) VALUES (?, ?, ?)");
  for (const auto& [name, value] : attempt.axes) axis.run(key, name, value);
  return key;
}

std::int64_t environment_key(Connection& db, const spec::EnvironmentRecord& environment) {
  const auto rows = environment_rows(environment);
  const auto sql = "SELECT environment_key FROM environments WHERE fingerprint = ?";
  if (const auto known = find_key(db, sql, rows.fingerprint)) return *known;
  Statement(db, "INSERT INTO environments (fingerprint) VALUES (?)").run(rows.fingerprint);
  const auto key = db.last_insert_key();
  Statement insert(db, "INSERT INTO environment_facts (environment_key, name_key, value) VALUES (?, ?, ?)");
  for (const auto& [fact, value] : rows.facts) insert.run(key, name_key(db, fact), value);
  return key;
}

// Throws if the database knows the attempt with other contents.
bool is_present(Connection& db, const AttemptRecord& attempt, const std::string& sha256, const fs::path& directory) {
  Statement known(db,
                  "SELECT record_sha256 FROM attempts JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) "
                  "WHERE run_id = ? AND sweep_id = ? AND attempt = ? AND attempts.started_utc = ?");
  known.with(attempt.run_id, attempt.sweep_id, attempt.attempt, attempt.started_utc);
  if (!known.step()) return false;
  if (known.text(0) == sha256) return true;
  throw InputError("[ingest] " + (directory / kAttemptFile).string() + ":1 contradicts what " + db.path().string() +
                   " holds of attempt " + std::to_string(attempt.attempt) + " of run " + attempt.run_id.substr(0, 16) +
                   ", started " + attempt.started_utc + ": one of the two was changed; ingest into a new database");
}

std::int64_t insert_attempt(Connection& db, const RunEvidence& evidence) {
  const auto& attempt = evidence.attempt;
  const auto& environment = evidence.environment;
  const auto run = run_key(db, evidence);
  std::optional<std::int64_t> environment_row;
  std::optional<double> load;
  std::optional<std::int64_t> memory;
  std::optional<double> peak;
  if (environment) {
    environment_row = environment_key(db, *environment);
    load = environment->load_1m;
    memory = environment->memory_available_bytes;
    peak = environment->peak_flops_per_s;
  }
  Statement(db,
            "INSERT INTO attempts (run_key, sweep_key, cell_key, environment_key, attempt, state, reason, exit_code, "
            "signal, started_utc, wall_ns, perfbench_version, record_sha256, lost_step_lines, load_1m, "
            "memory_available_bytes, peak_flops_per_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(run, sweep_key(db, attempt), cell_key(db, attempt, run), environment_row, attempt.attempt,
           spec::enum_name(attempt.state), attempt.reason, attempt.exit_code, attempt.signal, attempt.started_utc,
           attempt.wall_ns, attempt.perfbench_version, evidence.record_sha256, evidence.lost_step_lines, load, memory,
           peak);
  const auto key = db.last_insert_key();
  if (!attempt.engine_sha256.empty()) {
    Statement(db, "INSERT INTO attempt_settings (attempt_key, engine_key, repeats) VALUES (?, ?, ?)")
        .run(key, name_key(db, attempt.engine_sha256), attempt.repeats);
  }
  return key;
}

template <class T>
void insert_rows(Connection& db, const std::string& table, std::int64_t attempt_key, const std::vector<T>& rows) {
  Statement insert(db, insert_sql<T>(table));
  for (const auto& row : rows) {
    insert.bind(1, attempt_key);
    bind_columns(insert, 2, row);
    insert.step();
    insert.reset();
  }
}

void insert_metrics(Connection& db, std::int64_t attempt_key, const RunEvidence& evidence) {
  Statement insert(db, "INSERT INTO metrics (attempt_key, name_key, value) VALUES (?, ?, ?)");
  for (const auto& [metric, value] : run_metrics(evidence.run, evidence.steps, evidence.summary)) {
    insert.run(attempt_key, name_key(db, metric), value);
  }
}

struct TracedSteps {
  std::vector<TraceSummary> summaries;
  std::string problem;  // why there are none although the run was to trace some
};

// Whatever is wrong with a trace, the timed steps are worth keeping.
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
  // That an attempt which ended early has no trace goes without saying.
  if (evidence.attempt.state != AttemptState::ok) traced.problem.clear();
  return traced;
}

void insert_evidence(Connection& db, const RunEvidence& evidence, const std::vector<TraceSummary>& traced) {
  const auto key = insert_attempt(db, evidence);
  Statement argument(db, "INSERT INTO attempt_arguments (attempt_key, position, argument) VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < evidence.attempt.command.size(); ++i) {
    argument.run(key, static_cast<std::int64_t>(i), evidence.attempt.command[i]);
  }
  insert_rows(db, "steps", key, evidence.steps);
  insert_rows(db, "traced_steps", key, traced);
  insert_rows(db, "gpu_samples", key, evidence.gpu_samples);
  if (evidence.summary) {
    insert_rows(db, "attempt_summaries", key, std::vector{*evidence.summary});
    insert_rows(db, "attempt_traffic", key, evidence.summary->traffic);
    insert_rows(db, "attempt_attention", key, evidence.summary->attention_kernels);
  }
  insert_metrics(db, key, evidence);
}

// Folders that hold a run, finished or not, in the order of their paths.
std::vector<fs::path> run_directories(const fs::path& root) {
  std::error_code none;  // a link that leads in circles, say: there is nothing below it
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
  // Again, under the lock: another process may have taken it in meanwhile.
  if (is_present(db, evidence->attempt, evidence->record_sha256, directory)) return {.ingested = Ingested::present};
  insert_evidence(db, *evidence, traced.summaries);
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
            fmt::format("[ingest] {}: taken in as crashed: {}", directory.string(), outcome.damage));
      } else if (!outcome.damage.empty()) {
        report.damaged.push_back(fmt::format("[ingest] {}: {}", directory.string(), outcome.damage));
      }
      if (!outcome.trace_problem.empty()) report.trace_problems.push_back(outcome.trace_problem);
    } catch (const InputError& e) {
      report.problems.emplace_back(e.what());
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::constraint) throw;  // of the database, and not of this directory
      report.problems.emplace_back("[ingest] " + directory.string() + ": " + e.what());
    }
  }
  return report;
}

}  // namespace perfbench::harness
