#include "harness/store/attempts/evidence_reader.h"

#include <map>
#include <optional>
#include <utility>

#include "harness/evidence/environment_rows.h"
#include "harness/store/columns.h"
#include "harness/store/queries/sweeps.h"
#include "harness/store/stored_row.h"
#include "harness/system/sha256.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::map<std::string, std::string> texts_by_name(const Connection& db, const std::string& sql, std::int64_t key) {
  Statement rows(db, sql);
  rows.with(key);
  std::map<std::string, std::string> out;
  while (rows.step()) out[rows.text(0)] = rows.text(1);
  return out;
}

spec::EnvironmentRecord read_environment(const Connection& db, std::int64_t key) {
  auto out = environment_of(texts_by_name(
      db, "SELECT name, value FROM environment_facts JOIN names USING (name_key) WHERE environment_key = ?", key));
  if (out) return *out;
  refuse_row(db, {"environments", "environment_key " + std::to_string(key)}, "its facts are not those of a machine");
}

RowName row_of_attempt(std::int64_t key) {
  return {"attempts", "attempt_key " + std::to_string(key)};
}

// The name, cell, command and result of the attempt.
AttemptRecord read_record(const Connection& db, std::int64_t key) {
  const auto name = row_of_attempt(key);
  Statement row(db,
                "SELECT run_id, attempt, state, reason, exit_code, signal, a.started_utc, wall_ns, c.matrix, label, "
                "sweep_id, perfbench_version, coalesce(engine.name, ''), coalesce(repeats, 0), cell_key, "
                "coalesce(without_lock, 0) "
                "FROM attempts a JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) JOIN cells c USING (cell_key) "
                "LEFT JOIN attempt_settings USING (attempt_key) LEFT JOIN names engine ON engine.name_key = engine_key "
                "WHERE attempt_key = ?");
  if (!row.with(key).step()) refuse_row(db, name, "its run, sweep or cell is missing");
  AttemptRecord out{.run_id = row.text(0),
                    .attempt = row.integer(1),
                    .state = stored_enum<AttemptState>(db, name, "state", row.text(2)),
                    .reason = row.text(3),
                    .exit_code = row.integer(4),
                    .signal = row.integer(5),
                    .started_utc = row.text(6),
                    .wall_ns = row.integer(7),
                    .matrix = row.text(8),
                    .cell = row.text(9),
                    .axes = texts_by_name(db, "SELECT axis, value FROM cell_axes WHERE cell_key = ?", row.integer(14)),
                    .sweep_id = row.text(10),
                    .perfbench_version = row.text(11),
                    .engine_sha256 = row.text(12),
                    .repeats = row.integer(13),
                    .without_lock = row.integer(15) != 0};
  Statement arguments(db, "SELECT argument FROM attempt_arguments WHERE attempt_key = ? ORDER BY position");
  arguments.with(key);
  while (arguments.step()) out.command.push_back(arguments.text(0));
  auto jobs = read_rows<JobPlace>(db, "attempt_jobs", {"attempt_key", key}, "attempt_key");
  if (!jobs.empty()) out.job = std::move(jobs.front());
  if (auto request = find_request(db, out.sweep_id)) out.words = std::move(request->words);
  return out;
}

void read_run(const Connection& db, RunEvidence& out) {
  Statement row(db, "SELECT run_json FROM runs WHERE run_id = ?");
  row.with(out.attempt.run_id).step();
  const RowName name{"runs", "run_id " + out.attempt.run_id};
  out.run = stored_run(db, name, row.text(0));
  out.run_json = spec::canonical_json(out.run);
  if (sha256_hex(out.run_json) != out.attempt.run_id) refuse_row(db, name, "run_json has another SHA-256");
}

std::optional<spec::RunSummary> read_summary(const Connection& db, const std::pair<std::string, std::int64_t>& owner) {
  auto found = read_rows<spec::RunSummary>(db, "attempt_summaries", owner, "attempt_key");
  if (found.empty()) return std::nullopt;
  found.front().traffic = read_rows<spec::AxisTraffic>(db, "attempt_traffic", owner, "axis, collective");
  found.front().attention_kernels = read_rows<spec::AttentionKernel>(db, "attempt_attention", owner, "direction");
  return std::move(found.front());
}

std::optional<spec::ProgramResult> read_program_result(const Connection& db,
                                                       const std::pair<std::string, std::int64_t>& owner) {
  auto found = read_rows<spec::ProgramResult>(db, "program_results", owner, "attempt_key");
  if (found.empty()) return std::nullopt;
  Statement notes(db, "SELECT note FROM program_notes WHERE attempt_key = ? ORDER BY position");
  notes.with(owner.second);
  while (notes.step()) found.front().notes.push_back(notes.text(0));
  return std::move(found.front());
}

}  // namespace

RunEvidence read_circumstances(const Connection& db, std::int64_t key) {
  RunEvidence out;
  out.attempt = read_record(db, key);
  out.recorded_state = out.attempt.state;
  Statement row(db,
                "SELECT record_sha256, lost_step_lines, environment_key, load_1m, memory_available_bytes, "
                "peak_flops_per_s FROM attempts WHERE attempt_key = ?");
  row.with(key).step();
  out.record_sha256 = row.text(0);
  out.lost_step_lines = row.integer(1);
  if (row.is_null(2)) return out;
  out.environment = read_environment(db, row.integer(2));
  out.environment->load_1m = row.is_null(3) ? 0 : row.real(3);
  out.environment->memory_available_bytes = row.integer(4);
  out.environment->peak_flops_per_s = row.is_null(5) ? 0 : row.real(5);
  return out;
}

StoredEvidence read_evidence(const Connection& db, std::int64_t key) {
  const std::pair<std::string, std::int64_t> owner{"attempt_key", key};
  StoredEvidence out{.evidence = read_circumstances(db, key)};
  auto& evidence = out.evidence;
  try {
    read_run(db, evidence);
    evidence.summary = read_summary(db, owner);
    evidence.steps = read_rows<spec::StepRecord>(db, "steps", owner, "rank, step");
    evidence.gpu_samples = read_rows<spec::GpuSample>(db, "gpu_samples", owner, "rank, at_ns");
    evidence.program_result = read_program_result(db, owner);
    evidence.samples = read_rows<spec::Sample>(db, "samples", owner, "position");
    out.traced = read_rows<TraceSummary>(db, "traced_steps", owner, "rank, step");
  } catch (const spec::SpecError& e) {
    refuse_row(db, row_of_attempt(key), e.what());
  }
  return out;
}

SweepEntry read_sweep(const Connection& db, const std::string& sweep_id) {
  const RowName name{"sweeps", "sweep_id " + sweep_id};
  Statement row(db,
                "SELECT matrix, started_utc, kind, coalesce(selection, '') FROM sweeps "
                "LEFT JOIN sweep_selections USING (sweep_key) WHERE sweep_id = ?");
  if (!row.with(sweep_id).step()) refuse_row(db, name, "it is missing");
  return {.sweep_id = sweep_id,
          .matrix = row.text(0),
          .started_utc = row.text(1),
          .kind = stored_enum<SweepKind>(db, name, "kind", row.text(2)),
          .only = row.text(3)};
}

}  // namespace perfbench::harness
