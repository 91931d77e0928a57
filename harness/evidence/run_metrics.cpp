#include "harness/evidence/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"
#include "workloads/spec/expert_rows.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

// By these definitions the forward pass has 2 of 6 parts of the FLOPs.
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

namespace {

using spec::StepRecord;
using RankSteps = std::vector<const StepRecord*>;  // the records of one step, one for each rank

constexpr double kSecondsPerNs = 1e-9;

// The steps that every rank finished, in order.
std::vector<RankSteps> complete_steps(const std::vector<StepRecord>& steps) {
  std::map<std::int64_t, RankSteps> by_step;
  std::map<std::int64_t, int> ranks;
  for (const auto& record : steps) {
    by_step[record.step].push_back(&record);
    ++ranks[record.rank];
  }
  std::vector<RankSteps> out;
  for (auto& [step, records] : by_step) {
    if (records.size() == ranks.size()) out.push_back(std::move(records));
  }
  return out;
}

// Leaves out the steps that were traced.
std::vector<RankSteps> timed_steps(std::vector<RankSteps> complete) {
  std::erase_if(complete, [](const RankSteps& step) {
    return std::any_of(step.begin(), step.end(), [](const auto* record) { return record->traced != 0; });
  });
  return complete;
}

double longest_s(const RankSteps& step, std::int64_t StepRecord::*time) {
  std::int64_t longest = 0;
  for (const auto* record : step) longest = std::max(longest, record->*time);
  return static_cast<double>(longest) * kSecondsPerNs;
}

double slowest_rank_s(const RankSteps& step) {
  return longest_s(step, &StepRecord::wall_ns);
}

// Phases overlap differently on each rank. The mean over ranks keeps the sum of the parts equal to the mean step.
double mean_over_ranks_s(const RankSteps& step, std::int64_t StepRecord::*time) {
  double sum = 0;
  for (const auto* record : step) sum += static_cast<double>(record->*time);
  return sum / static_cast<double>(step.size()) * kSecondsPerNs;
}

template <class F>
std::vector<double> series(std::span<const RankSteps> steps, const F& value) {
  std::vector<double> out;
  for (const auto& step : steps) out.push_back(value(step));
  return out;
}

std::map<std::int64_t, std::vector<double>> probes_of_ranks_s(std::span<const RankSteps> steps) {
  std::map<std::int64_t, std::vector<double>> out;
  for (const auto& step : steps) {
    for (const auto* record : step) {
      out[record->rank].push_back(static_cast<double>(record->probe_ns) * kSecondsPerNs);
    }
  }
  return out;
}

// The probe of each rank is a series of its own, because ranks may sit on different cores; the run has the spread of
// its worst rank. The speed of the machine is the median probe on a processor, and the smallest probe on a GPU. The
// reason: at its power cap a GPU changes its clock depending on the work of the steps (by 6 % between two models on an
// H200, by as much between two settings of one model on an H100). The smallest probe is nearly always that of the first
// step: over 46 runs on two cards it varied by 1.3 % at most.
void append_probe(spec::Device device, std::span<const RankSteps> timed, std::span<const RankSteps> steady,
                  std::vector<MetricValue>& out) {
  std::optional<double> worst;
  double slowest = 0;
  for (const auto& [rank, probe_s] : probes_of_ranks_s(steady)) {
    const auto spread = probe_spread_fraction(probe_s);
    if (spread && (!worst || *spread > *worst)) worst = spread;
    if (device == spec::Device::cpu) slowest = std::max(slowest, median(probe_s));
  }
  if (device == spec::Device::cuda) {
    for (const auto& [rank, probe_s] : probes_of_ranks_s(timed)) {
      slowest = std::max(slowest, *std::min_element(probe_s.begin(), probe_s.end()));
    }
  }
  if (worst) out.push_back({"probe_spread_fraction", *worst});
  if (slowest > 0) out.push_back({"probe_time_s", slowest});
}

double median_phase_s(std::span<const RankSteps> steady, std::int64_t StepRecord::*time) {
  return median(series(steady, [time](const RankSteps& step) { return mean_over_ranks_s(step, time); }));
}

void append_phases(std::span<const RankSteps> steady, std::vector<MetricValue>& out) {
  const std::pair<const char*, std::int64_t StepRecord::*> phases[] = {
      {"data_time_s", &StepRecord::data_ns},           {"forward_time_s", &StepRecord::forward_ns},
      {"backward_time_s", &StepRecord::backward_ns},   {"exposed_comm_time_s", &StepRecord::exposed_comm_ns},
      {"optimizer_time_s", &StepRecord::optimizer_ns}, {"other_time_s", &StepRecord::other_ns},
  };
  for (const auto& [metric, time] : phases) out.push_back({metric, median_phase_s(steady, time)});
}

// Uses all steps and not only the steady ones: which steps are steady is a measurement, but what happens to tokens is
// not.
void append_experts(const spec::RunSpec& run, std::span<const RankSteps> complete, std::vector<MetricValue>& out) {
  const std::int64_t choices = spec::choices_of_step(run);
  if (choices == 0) return;
  std::int64_t dropped = 0;
  double load = 0;
  for (const auto& step : complete) {
    dropped += step.front()->dropped_choices;
    load += step.front()->expert_load;
  }
  out.push_back({"balance_loss", complete.back().front()->balance_loss});
  out.push_back({"expert_load", load / static_cast<double>(complete.size())});
  out.push_back({"dropped_fraction",
                 static_cast<double>(dropped) / static_cast<double>(choices) / static_cast<double>(complete.size())});
}

// Uses all steps, too: the runs of a cell see the same rows, while which steps are steady is a measurement.
void append_real_tokens(const spec::RunSpec& run, std::span<const RankSteps> complete, double mean_s,
                        std::vector<MetricValue>& out) {
  if (!run.counts_targets() || mean_s <= 0) return;
  std::int64_t real = 0;
  for (const auto& step : complete) real += step.front()->tokens - step.front()->padding_tokens;
  out.push_back({"real_tokens_per_s", static_cast<double>(real) / static_cast<double>(complete.size()) / mean_s});
}

// Every rank has a GPU of its own. Unknown unless each of them reported its power during the steady steps.
void append_energy(std::span<const RankSteps> steady, const std::vector<spec::GpuSample>& gpus, double mean_s,
                   std::vector<MetricValue>& out) {
  if (steady.empty() || gpus.empty()) return;
  std::map<std::int64_t, std::vector<double>> power_w;  // by rank
  for (const auto* record : steady.front()) power_w[record->rank];
  for (const auto& sample : gpus) {
    const bool is_steady = sample.step >= steady.front().front()->step && sample.step <= steady.back().front()->step;
    const auto of_rank = power_w.find(sample.rank);
    if (is_steady && sample.power_w > 0 && of_rank != power_w.end()) of_rank->second.push_back(sample.power_w);
  }
  double sum_w = 0;
  for (const auto& [rank, values] : power_w) {
    if (values.empty()) return;
    sum_w += std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  const auto tokens = static_cast<double>(steady.front().front()->tokens);
  if (tokens > 0) out.push_back({"energy_per_token_j", sum_w * mean_s / tokens});
}

void append_evaluation(const spec::EvaluationResult& found, std::vector<MetricValue>& out) {
  if (found.rows == 0) return;
  out.push_back({"eval_accuracy", found.accuracy});
  out.push_back({"eval_perplexity", found.perplexity});
}

// Uses all steps: how often a run saves does not depend on which of them are steady.
void append_checkpoints(std::span<const RankSteps> complete, const spec::CheckpointCosts& costs,
                        std::vector<MetricValue>& out) {
  std::vector<double> stalls_s;
  for (const auto& step : complete) {
    const double stall_s = longest_s(step, &StepRecord::checkpoint_ns);
    if (stall_s > 0) stalls_s.push_back(stall_s);
  }
  if (!stalls_s.empty()) out.push_back({"checkpoint_stall_s", median(stalls_s)});
  if (costs.saves > 0) {
    out.push_back({"checkpoint_save_time_s", static_cast<double>(costs.save_ns) * kSecondsPerNs});
    out.push_back({"checkpoint_bytes", static_cast<double>(costs.bytes)});
  }
  if (costs.restore_ns > 0) out.push_back({"restore_time_s", static_cast<double>(costs.restore_ns) * kSecondsPerNs});
}

}  // namespace

std::vector<double> step_times_s(const std::vector<StepRecord>& steps) {
  return series(timed_steps(complete_steps(steps)), slowest_rank_s);
}

std::vector<MetricValue> run_metrics(const spec::RunSpec& run, const std::vector<StepRecord>& steps,
                                     const std::optional<spec::RunSummary>& summary,
                                     const std::vector<spec::GpuSample>& gpus) {
  const auto complete = complete_steps(steps);
  if (complete.empty()) return {};
  const auto timed = timed_steps(complete);
  if (timed.empty()) return {};
  const auto wall_s = series(timed, slowest_rank_s);

  std::vector<MetricValue> out;
  const auto statistics = append_step_statistics(wall_s, find_steady_steps(wall_s), out);
  const std::span<const RankSteps> steady(timed.data() + statistics.steady.first, statistics.steady.count);
  const double step_time_s = statistics.median_s;
  const double mean_s = statistics.mean_s;
  if (mean_s > 0) {
    const double tokens = static_cast<double>(complete.back().front()->tokens);
    out.push_back({"sequences_per_s", static_cast<double>(run.global_batch) / mean_s});
    out.push_back({"tokens_per_s", tokens / mean_s});
    out.push_back({"tokens_per_s_per_device", tokens / mean_s / static_cast<double>(run.mesh.devices())});
  }
  append_real_tokens(run, complete, mean_s, out);
  append_energy(steady, gpus, mean_s, out);
  append_phases(steady, out);
  if (run.mesh.pp() > 1) {
    const double bubble_s = median_phase_s(steady, &StepRecord::bubble_ns);
    out.push_back({"bubble_time_s", bubble_s});
    if (step_time_s > 0) out.push_back({"bubble_fraction", bubble_s / step_time_s});
  }
  append_experts(run, complete, out);
  append_probe(run.device, timed, steady, out);
  std::int64_t peak_bytes = 0;
  for (const auto& record : steps) peak_bytes = std::max(peak_bytes, record.peak.total_bytes);
  out.push_back({"peak_memory_bytes", static_cast<double>(peak_bytes)});
  out.push_back({"final_loss", complete.back().front()->loss});
  if (summary) {
    out.push_back({"startup_time_s", static_cast<double>(summary->startup_ns) * kSecondsPerNs});
    out.push_back({"resident_bytes", static_cast<double>(summary->resident_bytes)});
    append_evaluation(summary->evaluation, out);
    append_checkpoints(complete, summary->checkpoint, out);
  }
  std::erase_if(out, [](const MetricValue& m) { return !std::isfinite(m.value); });  // a loss that is not finite
  return out;
}

}  // namespace perfbench::harness
