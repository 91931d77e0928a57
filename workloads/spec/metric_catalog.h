// Every number that perfbench stores or prints: its meaning, its unit, and which direction is better.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "workloads/spec/enum_names.h"

namespace perfbench::spec {

// neutral: a fact about the run; a change is worth knowing, but neither good nor bad.
enum class Direction { lower_is_better, higher_is_better, neutral };
template <>
struct EnumNames<Direction> {
  static constexpr std::array kNames{std::pair{Direction::lower_is_better, "lower_is_better"},
                                     std::pair{Direction::higher_is_better, "higher_is_better"},
                                     std::pair{Direction::neutral, "neutral"}};
};

// measured: the value differs in every run of the process. The other two give the same value for the same work,
// whatever the machine's speed, so repeated runs do not differ. counted: a sum over what the run asks for (memory),
// whatever computes it. exact: the same bits from the same seed (a loss), as long as the same libraries and kernels
// compute them.
enum class MetricNoise { measured, counted, exact };

struct MetricSpec {
  std::string_view tag;   // ends in its unit if it has one
  std::string_view unit;  // s, bytes, 1/s, fraction (0..1), nats, count, 1 (no unit)
  Direction direction = Direction::neutral;
  std::string_view description;
  MetricNoise noise = MetricNoise::measured;
};

// Medians and means are over the steady steps (harness/stats/steady.h); a step takes as long as its slowest rank. Rates
// and MFU use the mean: a user computes the same from the tokens and the hours of a training, stalls included.
inline constexpr std::array kMetricCatalog{
    MetricSpec{"step_time_s", "s", Direction::lower_is_better, "median time of a training step"},
    MetricSpec{"step_time_mean_s", "s", Direction::lower_is_better,
               "time of all steady steps over their number: stalls of a few steps count"},
    MetricSpec{"step_time_p10_s", "s", Direction::lower_is_better,
               "10th percentile of the step time, of 50 steady steps or more"},
    MetricSpec{"step_time_p90_s", "s", Direction::lower_is_better,
               "90th percentile of the step time, of 50 steady steps or more"},
    MetricSpec{"tokens_per_s", "1/s", Direction::higher_is_better,
               "trained tokens per second over all devices, at step_time_mean_s"},
    MetricSpec{"tokens_per_s_per_device", "1/s", Direction::higher_is_better,
               "trained tokens per second and device, at step_time_mean_s"},
    MetricSpec{"real_tokens_per_s", "1/s", Direction::higher_is_better,
               "trained tokens without padding per second over all devices, the mean of all steps at step_time_mean_s"},
    MetricSpec{"sequences_per_s", "1/s", Direction::higher_is_better,
               "trained sequences per second over all devices, at step_time_mean_s"},
    MetricSpec{"energy_per_token_j", "J", Direction::lower_is_better,
               "energy that all GPUs use for a trained token: the sum of their mean power in steady steps, at "
               "step_time_mean_s"},
    MetricSpec{"mfu_fraction", "fraction", Direction::higher_is_better,
               "model FLOP/s (definition causal) at step_time_mean_s over the peak of the devices"},
    MetricSpec{
        "hfu_fraction", "fraction", Direction::higher_is_better,
        "FLOP/s that the schedule executes, with recomputation, at step_time_mean_s over the peak of the devices"},
    MetricSpec{"estimated_days", "days", Direction::lower_is_better,
               "training_steps of the run at step_time_mean_s, without pauses"},
    MetricSpec{"data_time_s", "s", Direction::lower_is_better, "part of a step: waiting for tokens"},
    MetricSpec{"forward_time_s", "s", Direction::lower_is_better, "part of a step: forward pass"},
    MetricSpec{"backward_time_s", "s", Direction::lower_is_better, "part of a step: backward pass, with recomputation"},
    MetricSpec{"exposed_comm_time_s", "s", Direction::lower_is_better, "part of a step: waiting for collectives"},
    MetricSpec{"bubble_time_s", "s", Direction::lower_is_better,
               "part of a step: stages of a pipeline waiting for each other, mean over them"},
    MetricSpec{"bubble_fraction", "fraction", Direction::lower_is_better, "bubble_time_s over step_time_s"},
    MetricSpec{"optimizer_time_s", "s", Direction::lower_is_better,
               "part of a step: gradient norm, clipping and update"},
    MetricSpec{"other_time_s", "s", Direction::lower_is_better, "part of a step: the rest"},
    MetricSpec{"peak_memory_bytes", "bytes", Direction::lower_is_better,
               "most memory that the tensors of one device took at once", MetricNoise::counted},
    MetricSpec{"resident_bytes", "bytes", Direction::lower_is_better, "peak resident set of the engine's process"},
    MetricSpec{"wall_time_s", "s", Direction::lower_is_better,
               "start to end of a training program that is not perfbench-engine"},
    MetricSpec{"startup_time_s", "s", Direction::lower_is_better, "process start to the first step"},
    MetricSpec{"checkpoint_stall_s", "s", Direction::lower_is_better,
               "a step's wait for a checkpoint on the slowest rank, median over the steps that were saved"},
    MetricSpec{"checkpoint_save_time_s", "s", Direction::lower_is_better,
               "from the beginning of a save to the whole checkpoint on the disk, mean over the saves"},
    MetricSpec{"checkpoint_bytes", "bytes", Direction::lower_is_better, "values of a checkpoint, of all ranks",
               MetricNoise::counted},
    MetricSpec{"restore_time_s", "s", Direction::lower_is_better,
               "reading the checkpoint that a run begins from; part of startup_time_s"},
    MetricSpec{"final_loss", "nats", Direction::lower_is_better, "mean cross-entropy of the last step",
               MetricNoise::exact},
    MetricSpec{"printed_loss", "nats", Direction::lower_is_better,
               "last loss that a training program printed which does not repeat it bit by bit"},
    MetricSpec{"loss", "nats", Direction::lower_is_better, "mean cross-entropy of one step", MetricNoise::exact},
    MetricSpec{"grad_norm", "1", Direction::neutral, "global gradient norm of one step, before clipping",
               MetricNoise::exact},
    MetricSpec{"balance_loss", "1", Direction::neutral,
               "auxiliary loss of experts in the last step, of all layers, before its weight", MetricNoise::exact},
    MetricSpec{
        "expert_load", "1", Direction::lower_is_better,
        "choices of a sequence's busiest expert over an equal share, mean of sequences, layers and steps: 1 is even",
        MetricNoise::exact},
    MetricSpec{"dropped_fraction", "fraction", Direction::lower_is_better,
               "choices of experts that found no slot, over all choices of the run's steps", MetricNoise::exact},
    MetricSpec{
        "eval_accuracy", "1", Direction::higher_is_better,
        "share of rows whose completion is the greedy choice, or of questions whose right answer is the likeliest",
        MetricNoise::exact},
    MetricSpec{"eval_perplexity", "1", Direction::lower_is_better,
               "exp of the mean negative log-likelihood of the completions that are evaluated", MetricNoise::exact},
    MetricSpec{"probe_time_s", "s", Direction::neutral,
               "noise probe on the slowest rank: the median, of GPUs the least"},
    MetricSpec{"probe_spread_fraction", "fraction", Direction::lower_is_better,
               "how far the noise probe moved during the run"},
    MetricSpec{"warmup_steps", "count", Direction::neutral, "steps before the steady ones, left out of medians"},
    MetricSpec{"steady_steps", "count", Direction::neutral, "steps that medians are taken over"},
    MetricSpec{"step_time_trend_fraction", "fraction", Direction::neutral,
               "how far a trend moved the step time from the first steady step to the last, over the median: Theil and "
               "Sen's slope; 0 where Mann and Kendall's test finds no trend"},
    MetricSpec{"still_changing", "1", Direction::lower_is_better, "1 when the steps never became steady, else 0"},
};

constexpr std::optional<MetricSpec> find_metric(std::string_view tag) {
  for (const auto& metric : kMetricCatalog) {
    if (metric.tag == tag) return metric;
  }
  return std::nullopt;
}

// The unit of a metric: of the catalog, or of another one by the end of its name. "1" where that says nothing.
constexpr std::string_view unit_of(std::string_view tag) {
  if (const auto metric = find_metric(tag)) return metric->unit;
  if (tag.ends_with("_per_s")) return "1/s";
  if (tag.ends_with("_s")) return "s";
  return tag.ends_with("_bytes") ? "bytes" : "1";
}

// No run records these: they are computed from its step_time_mean_s where they are shown. Two runs of one cell differ
// in them exactly as they differ in that.
constexpr bool follows_from_mean_step(std::string_view tag) {
  return tag == "mfu_fraction" || tag == "hfu_fraction" || tag == "estimated_days";
}

// Why a run may lack a metric for a reason other than missing steps.
struct Absence {
  std::string_view tag;
  std::string_view why;
};
inline constexpr std::array kAbsences{
    Absence{
        "step_time_mean_s",
        "no step was finished by every rank, or a version stored the run that had no such metric: `perfbench ingest` "
        "its run directory into a new database"},
    Absence{"step_time_p10_s", "percentiles take 50 steady steps"},
    Absence{"step_time_p90_s", "percentiles take 50 steady steps"},
    Absence{"step_time_trend_fraction", "a trend takes 8 steady steps"},
    Absence{"energy_per_token_j", "the power of its devices was not measured during its steady steps"},
    Absence{"mfu_fraction", "the peak of its devices is not known"},
    Absence{"hfu_fraction", "the peak of its devices is not known"},
    Absence{"estimated_days", "it does not say its training_steps"},
    Absence{"resident_bytes", "its engine left no result.json"},
    Absence{"startup_time_s", "its engine left no result.json"},
    Absence{"final_loss", "its last loss is not a finite number"},
    Absence{"loss", "it is of each step and not of a run; final_loss is that of the last one"},
    Absence{"grad_norm", "it is of each step and not of a run"},
    Absence{"real_tokens_per_s", "its run has no documents, and so no padding"},
    Absence{"bubble_time_s", "its run has no pipeline"},
    Absence{"bubble_fraction", "its run has no pipeline"},
    Absence{"balance_loss", "its model has no experts, or its last auxiliary loss is not a finite number"},
    Absence{"expert_load", "its model has no experts"},
    Absence{"dropped_fraction", "its model has no experts"},
    Absence{"eval_accuracy", "its run evaluates nothing"},
    Absence{"eval_perplexity", "its run evaluates nothing, or its perplexity is not a finite number"},
    Absence{"checkpoint_stall_s", "its run saves no checkpoint"},
    Absence{"checkpoint_save_time_s", "its run saves no checkpoint"},
    Absence{"checkpoint_bytes", "its run saves no checkpoint"},
    Absence{"restore_time_s", "its run begins from no checkpoint"},
    Absence{"probe_time_s", "its engine recorded no noise probe"},
    Absence{"probe_spread_fraction", "that takes the noise probes of 3 steady steps"},
};

constexpr std::string_view why_absent(std::string_view tag) {
  for (const auto& [metric, why] : kAbsences) {
    if (metric == tag) return why;
  }
  return "no step was finished by every rank";
}

}  // namespace perfbench::spec
