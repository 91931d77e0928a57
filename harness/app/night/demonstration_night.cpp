#include "harness/app/night/demonstration_night.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"
#include "workloads/spec/record_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::int64_t scaled(std::int64_t ns, double factor) {
  return std::llround(factor * static_cast<double>(ns));
}

spec::StepRecord scaled(spec::StepRecord step, double factor) {
  step.wall_ns = 0;
  for (auto* part : {&step.data_ns, &step.forward_ns, &step.backward_ns, &step.exposed_comm_ns, &step.bubble_ns,
                     &step.optimizer_ns, &step.other_ns}) {
    *part = scaled(*part, factor);
    step.wall_ns += *part;
  }
  return step;
}

// Without flushing to disk, because the files can be made again in a moment.
void write(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw RunDirectoryError("[nightly] cannot write " + file.string());
}

class SeededNoise {
 public:
  explicit SeededNoise(std::uint64_t seed) : random_(seed) {}
  double factor(double sd) { return std::exp(sd * normal_(random_)); }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

fs::path write_night(const RunEvidence& base, const fs::path& runs, const SimulatedNights& how, int days,
                     SeededNoise& noise) {
  const auto made = create_attempt(runs, base.attempt.run_id);
  write(made.path / kRunFile, base.run_json);
  write(made.path / kEnvironmentFile, spec::to_json_line(*base.environment) + "\n");
  const double step_factor = noise.factor(how.step_time_sd);
  for (std::int64_t rank = 0; rank < base.run.mesh.devices(); ++rank) {
    std::string lines;
    for (const auto& step : base.steps) {
      if (step.rank == rank) lines += spec::to_json_line(scaled(step, step_factor)) + "\n";
    }
    write(made.path / steps_file(rank), lines);
  }
  auto summary = *base.summary;
  summary.startup_ns = scaled(summary.startup_ns, noise.factor(how.startup_sd));
  summary.resident_bytes = scaled(summary.resident_bytes, noise.factor(how.resident_sd));
  write(made.path / kResultFile, spec::to_json_line(summary) + "\n");
  auto attempt = base.attempt;
  const auto started = base.attempt.started_utc;
  attempt.attempt = made.attempt;
  attempt.started_utc = on_day(started, std::chrono::sys_days(day_of(started)) - std::chrono::days(days));
  attempt.sweep_id = how.sweep_prefix + date_of(attempt.started_utc);
  attempt.sweep_kind = SweepKind::simulated;
  attempt.perfbench_version = "simulated";
  write(made.path / kAttemptFile, to_json_line(attempt));
  return made.path;
}

}  // namespace

std::vector<fs::path> write_simulated_nights(const std::vector<fs::path>& base, const fs::path& runs,
                                             const SimulatedNights& how) {
  std::vector<RunEvidence> finished;
  for (const auto& folder : base) {
    auto evidence = read_run_directory(folder);
    if (!evidence || evidence->attempt.state != AttemptState::ok || !evidence->environment || !evidence->summary) {
      continue;
    }
    finished.push_back(std::move(*evidence));
  }
  SeededNoise noise(how.seed);
  std::vector<fs::path> out;
  for (int days = how.nights; days > 0; --days) {
    for (const auto& evidence : finished) out.push_back(write_night(evidence, runs, how, days, noise));
  }
  return out;
}

namespace {

constexpr const char* kClock = "work_clock";  // engine/faults/faults.h

PlannedWork only(const PlannedWork& work, const std::function<bool(const Cell&)>& wanted) {
  PlannedWork out{.plans = work.plans};
  std::copy_if(work.cells.begin(), work.cells.end(), std::back_inserter(out.cells), wanted);
  return out;
}

// Simulated times among measured ones would be compared as nights.
void refuse_measured_runs(Connection& db) {
  if (has_sweep_of(db, SweepKind::simulated) || !has_any_sweep(db)) return;
  throw InputError(
      fmt::format("[nightly] {} contains measured runs, but --history-from simulated adds simulated nights: name a new "
                  "database with --db",
                  db.path().string()));
}

// Makes earlier nights from clean runs of every cell. Nothing was measured on those days, and every record says so.
void simulate_history(Night& night, const PlannedWork& work, Measured& out) {
  reports::print(stderr, "clean runs of every cell, from which earlier nights are simulated\n");
  const auto base = fs::path(night.options.ab.db).replace_extension(".base.runs");
  auto execution = night_settings(night, out.engine, SweepKind::simulated);
  execution.runs = base;
  const SweepHooks hooks{
      .plan = [&work](const Cell& cell) { return work.plans.at(cell.run_id); },
      .store = [](const fs::path&) { return std::string(); },
      .stored = [](const std::string&, const std::string&, AttemptState) { return std::int64_t{0}; }};
  const auto summary = run_sweep(work.cells, {.execution = execution}, hooks, night.interruption);
  out.cancelled = out.cancelled || summary.cancelled;
  std::vector<fs::path> folders;
  for (const auto& attempt : summary.attempts) folders.push_back(attempt.directory);
  const SimulatedNights how{.sweep_prefix = "simulated-" + night.sweep_id + "-"};
  std::string earlier;
  for (const auto& folder : write_simulated_nights(folders, night.options.runs_folder(), how)) {
    const auto attempt = read_attempt(folder);
    if (std::exchange(earlier, attempt->sweep_id) != attempt->sweep_id) {
      night.archive.keep(earlier, attempt->matrix, out.engine.engine.file);
    }
    night.store.ingest(folder);
  }
  fs::remove_all(base);
  out.notes.push_back(
      "In this demonstration, time is simulated from the work of the engine; it does not measure the machine");
  out.notes.push_back(fmt::format("The {} previous nights are simulated from runs of a moment ago", how.nights));
}

// The planted cell has the faulty engine in tonight's pairs too.
void measure_with_planted_fault(Night& night, const PlannedWork& work, const std::string& fault, Measured& out) {
  const auto planted =
      std::find_if(work.cells.begin(), work.cells.end(), [&](const Cell& cell) { return work.can_run(cell); });
  if (planted == work.cells.end()) throw InputError("[nightly] no cell of the matrix can run here on a CPU");
  const auto& label = planted->label;
  const auto faulty = faulty_side({kClock, fault}, night.installation.engine);
  out.other_engines.emplace(label, faulty);
  out.notes.push_back(fmt::format("Planted tonight: {} in {}", fault, shown_label(label)));
  const auto is_planted = [&](const Cell& cell) { return cell.label == label; };
  run_cells(night, only(work, [&](const Cell& cell) { return !is_planted(cell); }),
            night_settings(night, out.engine, SweepKind::simulated), out);
  run_cells(night, only(work, is_planted), night_settings(night, faulty, SweepKind::simulated), out);
}

}  // namespace

NightOptions demonstration_options(NightOptions options) {
  options.ab.spoil = {.most_probe_spread = 1e9, .most_probe_shift = 1e9, .most_steal = 1e9, .most_foreign = 1e9};
  options.ab.execution.machine_use = MachineUse::shared;  // its time is simulated
  return options;
}

Measured measure_demonstration(Night& night, const std::string& fault) {
  faulty_side({fault}, night.installation.engine);  // throws for an unknown fault before anything runs
  Measured out{.engine = faulty_side({kClock}, night.installation.engine), .can_check_for_creep = false};
  // A run on a GPU cannot have that clock.
  const auto work = plan_night(
      night, [](const Cell& cell) { return cell.run.device == spec::Device::cpu; }, out);
  refuse_measured_runs(night.store.db());
  keep_engine(night, out);
  simulate_history(night, work, out);
  if (!out.cancelled) measure_with_planted_fault(night, work, fault, out);
  remove_old_engines(night);
  return out;
}

}  // namespace perfbench::harness
