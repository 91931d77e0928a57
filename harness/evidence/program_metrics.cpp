#include "harness/evidence/program_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>

#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"
#include "harness/stats/trend.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

constexpr double kSecondsOfANs = 1e-9;
constexpr std::string_view kStepTime = "step_time_s";
constexpr std::string_view kLoss = "loss";

void append_step_times(const spec::RunSpec& run, const std::vector<double>& times_s, std::vector<MetricValue>& out) {
  if (times_s.empty()) return;
  const auto found = find_steady_steps(times_s);
  const std::vector<double> steady_s(times_s.begin() + static_cast<std::ptrdiff_t>(found.first), times_s.end());
  out.push_back({"step_time_s", median(steady_s)});
  out.push_back({"step_time_p10_s", quantile(steady_s, 0.1)});
  out.push_back({"step_time_p90_s", quantile(steady_s, 0.9)});
  const double mean_s = std::accumulate(steady_s.begin(), steady_s.end(), 0.0) / static_cast<double>(steady_s.size());
  out.push_back({"step_time_mean_s", mean_s});
  out.push_back({"warmup_steps", static_cast<double>(found.first)});
  out.push_back({"steady_steps", static_cast<double>(found.count)});
  if (const auto trend = trend_fraction(steady_s)) out.push_back({"step_time_trend_fraction", *trend});
  out.push_back({"still_changing", found.steadiness == Steadiness::still_changing ? 1.0 : 0.0});
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
