#include "harness/demonstration/simulated_nights.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <random>

#include "harness/evidence/attempt_json.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/evidence/utc.h"
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

// Without the flushes of what was measured: made again in a moment.
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
  attempt.sweep_id = how.sweep_prefix + attempt.started_utc.substr(0, 10);
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

}  // namespace perfbench::harness
