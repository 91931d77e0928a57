#include "harness/store/attempts/evidence_writer.h"

#include <optional>

#include "harness/evidence/environment_rows.h"
#include "harness/evidence/program_metrics.h"
#include "harness/evidence/run_metrics.h"
#include "harness/store/columns.h"
#include "harness/store/queries/sweeps.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

std::int64_t run_key(Connection& db, const RunEvidence& evidence) {
  const auto& run = evidence.run;
  if (const auto known = find_key(db, "SELECT run_key FROM runs WHERE run_id = ?", evidence.attempt.run_id)) {
    return *known;
  }
  Statement row(db,
                "INSERT INTO runs (run_id, model, device, hardware, precision, attention, remat, scan, seq_len, "
                "global_batch, grad_accum, steps, devices, dp, fsdp, tp, ep, pp, run_json) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  // NULL for fields that the user of a program did not declare.
  const auto text = [&run](const char* field, std::string_view value) {
    return spec::says(run, field) ? std::optional(std::string(value)) : std::nullopt;
  };
  const auto number = [&run](const char* field, std::int64_t value) {
    return spec::says(run, field) ? std::optional(value) : std::nullopt;
  };
  row.run(evidence.attempt.run_id, text("model", run.model.name), text("device", spec::enum_name(run.device)),
          text("hardware", run.hardware), text("precision", spec::enum_name(run.precision)),
          text("attention", spec::enum_name(run.attention)), text("remat", run.remat), number("scan", run.scan),
          number("seq_len", run.seq_len), number("global_batch", run.global_batch),
          number("grad_accum", run.grad_accum), number("steps", run.steps), number("mesh", run.mesh.devices()),
          number("mesh", run.mesh.dp()), number("mesh", run.mesh.fsdp()), number("mesh", run.mesh.tp()),
          number("mesh", run.mesh.ep()), number("mesh", run.mesh.pp()), evidence.run_json);
  const auto key = db.last_insert_key();
  Statement insert(db, "INSERT INTO run_fields (run_key, name_key, value) VALUES (?, ?, ?)");
  for (const auto& [field, value] : spec::flat_fields(run))
    insert.run(key, name_key(db, field), spec::without_quotes(value));
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

SweepEntry sweep_of(const AttemptRecord& attempt) {
  return {.sweep_id = attempt.sweep_id,
          .matrix = attempt.matrix,
          .started_utc = attempt.started_utc,
          .kind = attempt.sweep_kind,
          .only = attempt.only};
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
      .run(run, add_sweep(db, sweep_of(attempt)), cell_key(db, attempt, run), environment_row, attempt.attempt,
           spec::enum_name(attempt.state), attempt.reason, attempt.exit_code, attempt.signal, attempt.started_utc,
           attempt.wall_ns, attempt.perfbench_version, evidence.record_sha256, evidence.lost_step_lines, load, memory,
           peak);
  const auto key = db.last_insert_key();
  if (!attempt.engine_sha256.empty()) {
    Statement(db, "INSERT INTO attempt_settings (attempt_key, engine_key, repeats, without_lock) VALUES (?, ?, ?, ?)")
        .run(key, name_key(db, attempt.engine_sha256), attempt.repeats,
             static_cast<std::int64_t>(attempt.without_lock));
  }
  if (attempt.job) insert_rows(db, "attempt_jobs", {{"attempt_key", key}}, std::vector{*attempt.job});
  if (attempt.words && !attempt.sweep_id.empty()) {
    record_request(db, {.sweep_id = attempt.sweep_id,
                        .matrix = attempt.matrix,
                        .begun_utc = attempt.started_utc,
                        .words = *attempt.words,
                        .repeats = attempt.repeats});
  }
  return key;
}

// Stores the result and the samples of a training program.
void insert_program(Connection& db, std::int64_t key, const RunEvidence& evidence) {
  if (evidence.program_result) {
    insert_rows(db, "program_results", {{"attempt_key", key}}, std::vector{*evidence.program_result});
    Statement note(db, "INSERT INTO program_notes (attempt_key, position, note) VALUES (?, ?, ?)");
    std::int64_t position = 0;
    for (const auto& text : evidence.program_result->notes) note.run(key, position++, text);
  }
  insert_rows(db, "samples", {{"attempt_key", key}}, evidence.samples, "position");
}

std::vector<MetricValue> metrics_of(const RunEvidence& evidence) {
  if (evidence.run.program) return program_metrics(evidence.run, evidence.samples, evidence.program_result);
  return run_metrics(evidence.run, evidence.steps, evidence.summary, evidence.gpu_samples);
}

void insert_metrics(Connection& db, std::int64_t attempt_key, const RunEvidence& evidence) {
  Statement insert(db, "INSERT INTO metrics (attempt_key, name_key, value) VALUES (?, ?, ?)");
  for (const auto& [metric, value] : metrics_of(evidence)) {
    insert.run(attempt_key, name_key(db, metric), value);
  }
}

}  // namespace

std::int64_t add_sweep(Connection& db, const SweepEntry& sweep) {
  Statement(db,
            "INSERT INTO sweeps (sweep_id, matrix, started_utc, kind) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (sweep_id) DO UPDATE SET matrix = CASE WHEN (excluded.started_utc, excluded.matrix) < "
            "(started_utc, matrix) THEN excluded.matrix ELSE matrix END, "
            "started_utc = min(started_utc, excluded.started_utc), kind = " +
                surer_kind("kind", "excluded.kind"))
      .run(sweep.sweep_id, sweep.matrix, sweep.started_utc, spec::enum_name(sweep.kind));
  const auto key = *find_key(db, "SELECT sweep_key FROM sweeps WHERE sweep_id = ?", sweep.sweep_id);
  // A sweep that was begun or resumed with --only covers a part of the matrix, whatever its other attempts say.
  if (!sweep.only.empty()) {
    Statement(db,
              "INSERT INTO sweep_selections (sweep_key, selection) VALUES (?, ?) "
              "ON CONFLICT (sweep_key) DO UPDATE SET selection = min(selection, excluded.selection)")
        .run(key, sweep.only);
  }
  return key;
}

void add_evidence(Connection& db, const RunEvidence& evidence, const std::vector<TraceSummary>& traced) {
  const auto key = insert_attempt(db, evidence);
  Statement argument(db, "INSERT INTO attempt_arguments (attempt_key, position, argument) VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < evidence.attempt.command.size(); ++i) {
    argument.run(key, static_cast<std::int64_t>(i), evidence.attempt.command[i]);
  }
  const KeyColumns owner{{"attempt_key", key}};
  insert_rows(db, "steps", owner, evidence.steps);
  insert_rows(db, "traced_steps", owner, traced);
  insert_rows(db, "gpu_samples", owner, evidence.gpu_samples);
  if (evidence.summary) {
    insert_rows(db, "attempt_summaries", owner, std::vector{*evidence.summary});
    insert_rows(db, "attempt_traffic", owner, evidence.summary->traffic);
    insert_rows(db, "attempt_attention", owner, evidence.summary->attention_kernels);
  }
  insert_program(db, key, evidence);
  insert_metrics(db, key, evidence);
}

}  // namespace perfbench::harness
