#include "harness/metrics/mfu.h"

#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

// The definitions count 2 of 6 parts to the forward pass.
double flops_per_token(const spec::RunSpec& run, spec::FlopDefinition definition) {
  return spec::flops_per_token(definition, run.model, run.seq_len, run.lora) * (run.trains() ? 1.0 : 1.0 / 3.0);
}

}  // namespace

double mfu_fraction(const spec::RunSpec& run, double step_time_s, double peak_flops_per_s,
                    spec::FlopDefinition definition) {
  const auto tokens = static_cast<double>(run.global_batch * run.seq_len);
  const auto devices = static_cast<double>(run.mesh.devices());
  return spec::utilisation(tokens / step_time_s / devices, flops_per_token(run, definition), peak_flops_per_s);
}

std::optional<double> estimated_days(const spec::RunSpec& run, double step_time_s) {
  constexpr double kSecondsOfADay = 86400;
  if (run.training_steps <= 0) return std::nullopt;
  return static_cast<double>(run.training_steps) * step_time_s / kSecondsOfADay;
}

}  // namespace perfbench::harness
