#include "harness/evidence/program_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "harness/evidence/step_statistics.h"
#include "harness/stats/statistics.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

constexpr double kSecondsOfANs = 1e-9;
constexpr std::string_view kStepTime = "step_time_s";
constexpr std::string_view kLoss = "loss";

SteadySteps steady_steps(const spec::RunSpec& run, const std::vector<double>& times_s) {
  if (readers::warms_up(run.program->spec)) return {.count = times_s.size(), .steadiness = Steadiness::steady};
  return find_steady_steps(times_s);
}

void append_step_times(const spec::RunSpec& run, const std::vector<double>& times_s, std::vector<MetricValue>& out) {
  if (times_s.empty()) return;
  const double mean_s = append_step_statistics(times_s, steady_steps(run, times_s), out).mean_s;
  if (mean_s <= 0) return;
  if (spec::says(run, "global_batch"))
    out.push_back({"sequences_per_s", static_cast<double>(run.global_batch) / mean_s});
  if (!spec::says_tokens(run)) return;
  const auto tokens = static_cast<double>(run.global_batch * run.seq_len);
  out.push_back({"tokens_per_s", tokens / mean_s});
  if (spec::says(run, "mesh")) {
    out.push_back({"tokens_per_s_per_device", tokens / mean_s / static_cast<double>(run.mesh.devices())});
  }
}

bool takes_last(const spec::ProgramSpec& program, const std::string& metric) {
  const auto declared = program.metrics.find(metric);
  return declared != program.metrics.end() && declared->second.take == spec::Take::last;
}

// The average of a benchmark whose file has no samples.
void append_average_step_time(const spec::RunSpec& run, const readers::Settled& settled,
                              std::vector<MetricValue>& out) {
  if (settled.has_times || !readers::warms_up(run.program->spec)) return;
  for (const auto& average : settled.run_values) {
    if (average.metric == kStepTime) out.push_back({average.metric, average.value});
  }
}

// All printed values except step times.
void append_others(const spec::ProgramSpec& program, const std::vector<spec::Sample>& samples,
                   std::vector<MetricValue>& out) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& sample : samples) {
    if (sample.metric != kStepTime && std::isfinite(sample.value)) values[sample.metric].push_back(sample.value);
  }
  for (const auto& [metric, series] : values) {
    if (metric == kLoss) {
      out.push_back({program.deterministic ? "final_loss" : "printed_loss", series.back()});
    } else {
      out.push_back({metric, takes_last(program, metric) ? series.back() : median(series)});
    }
  }
}

}  // namespace

std::vector<double> step_times_s(const readers::Settled& settled) {
  constexpr std::int64_t kMostCopies = 10'000;
  std::vector<const spec::Sample*> times;
  for (const auto& sample : settled.samples) {
    if (sample.metric == kStepTime) times.push_back(&sample);
  }
  const bool uniform = std::all_of(times.begin(), times.end(),
                                   [&](const auto* sample) { return sample->covers == times.front()->covers; });
  std::vector<double> out;
  for (const auto* sample : times) {
    const auto copies = uniform ? 1 : std::clamp<std::int64_t>(sample->covers, 1, kMostCopies);
    out.insert(out.end(), static_cast<std::size_t>(copies), sample->value);
  }
  return out;
}

std::vector<MetricValue> program_metrics(const spec::RunSpec& run, const std::vector<spec::Sample>& samples,
                                         const std::optional<spec::ProgramResult>& result) {
  const auto settled = readers::settle(samples, readers::settle_rules(run.program->spec));
  std::vector<MetricValue> out;
  append_step_times(run, step_times_s(settled), out);
  append_average_step_time(run, settled, out);
  append_others(run.program->spec, settled.samples, out);
  append_others(run.program->spec, settled.run_values, out);
  if (result) {
    out.push_back({"wall_time_s", static_cast<double>(result->wall_ns) * kSecondsOfANs});
    if (result->startup_ns > 0)
      out.push_back({"startup_time_s", static_cast<double>(result->startup_ns) * kSecondsOfANs});
    if (result->resident_bytes > 0) out.push_back({"resident_bytes", static_cast<double>(result->resident_bytes)});
  }
  std::erase_if(out, [](const MetricValue& m) { return !std::isfinite(m.value); });
  return out;
}

}  // namespace perfbench::harness
