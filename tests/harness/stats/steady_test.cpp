#include "harness/stats/steady.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string_view>

#include "harness/evidence/run_metrics.h"
#include "harness/stats/statistics.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

TEST(Statistics, QuantilesAreThoseOfType7) {
  // Expected values by hand: position (n - 1) p.
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.1), 14.0);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 1.0), 50.0);
  EXPECT_DOUBLE_EQ(median({5, 1, 9}), 5.0);
  EXPECT_DOUBLE_EQ(median({5, 1, 9, 7}), 6.0);
  EXPECT_THROW(median({}), std::invalid_argument);
}

TEST(Statistics, RobustDeviationOfGaussianNoiseIsItsStandardDeviation) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> noise(10.0, 2.0);
  std::vector<double> values(20000);
  for (auto& v : values) v = noise(engine);
  // The standard error of the scaled MAD is about 1.17 sd / sqrt(n) = 0.017; the tolerance is six of them.
  EXPECT_NEAR(robust_deviation(values), 2.0, 0.1);
}

TEST(WarmUpRule, AlwaysDropsTheFirstStep) {
  const auto found = find_steady_steps({0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(found.first, 1U);
  EXPECT_EQ(found.count, 5U);
  EXPECT_EQ(found.steadiness, Steadiness::steady);
}

TEST(WarmUpRule, DropsTheSlowStepsAtTheStart) {
  const auto found = find_steady_steps({3.0, 1.0, 0.8, 0.51, 0.5, 0.5, 0.49, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(found.first, 3U);
}

TEST(WarmUpRule, KeepsASlowStepInTheMiddle) {
  const auto found = find_steady_steps({0.9, 0.5, 0.5, 0.5, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(found.first, 1U);
  EXPECT_EQ(found.count, 9U);
}

TEST(WarmUpRule, KeepsAFastStart) {
  // A machine that slows down is not warming up: the run's own numbers must show it.
  const auto found = find_steady_steps({0.4, 0.4, 0.4, 0.4, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(found.first, 1U);
}

TEST(WarmUpRule, SaysThatARunNeverBecameSteady) {
  const auto found = find_steady_steps({9.0, 8.0, 7.0, 6.0, 1.0, 1.0, 1.0, 1.0});
  EXPECT_EQ(found.first, 4U);
  EXPECT_EQ(found.steadiness, Steadiness::still_changing);
}

TEST(WarmUpRule, UsesAllStepsOfAVeryShortRun) {
  EXPECT_EQ(find_steady_steps({}).count, 0U);
  EXPECT_EQ(find_steady_steps({1.0}).count, 1U);
  const auto three = find_steady_steps({1.0, 0.5, 0.5});
  EXPECT_EQ(three.first, 1U);
  EXPECT_EQ(three.steadiness, Steadiness::short_run);
}

TEST(Probe, ASteadyProbeHasASmallSpread) {
  EXPECT_LT(*probe_spread_fraction({1.00, 1.01, 1.02, 1.00, 1.01}), most_probe_spread(spec::Device::cpu));
}

TEST(Probe, AProbeThatDoubledForAThirdOfTheRunHasMoved) {
  EXPECT_GT(*probe_spread_fraction({1.0, 1.0, 2.0, 1.0, 2.0, 1.0}), most_probe_spread(spec::Device::cuda));
}

TEST(Probe, TooFewSamplesHaveNoSpread) {
  EXPECT_FALSE(probe_spread_fraction({1.0, 2.0}));
  EXPECT_FALSE(probe_spread_fraction({0.0, 0.0, 0.0}));
}

double value_of(const std::vector<MetricValue>& metrics, const std::string& tag) {
  for (const auto& m : metrics) {
    if (m.metric == tag) return m.value;
  }
  ADD_FAILURE() << "no metric " << tag;
  return 0;
}

std::vector<spec::StepRecord> steps_of(std::int64_t rank, const std::vector<std::int64_t>& wall_ms) {
  std::vector<spec::StepRecord> out;
  for (std::size_t i = 0; i < wall_ms.size(); ++i) {
    spec::StepRecord record;
    record.rank = rank;
    record.step = static_cast<std::int64_t>(i);
    record.wall_ns = wall_ms[i] * 1'000'000;
    record.forward_ns = record.wall_ns / 2;
    record.tokens = 1000;
    record.loss = 1;
    record.probe_ns = 1'000'000 * (rank + 1);
    out.push_back(record);
  }
  return out;
}

TEST(RunMetrics, AStepTakesAsLongAsItsSlowestRank) {
  auto steps = steps_of(0, {900, 130, 100, 130, 100, 130});
  const auto second = steps_of(1, {100, 110, 110, 110, 110, 110});
  steps.insert(steps.end(), second.begin(), second.end());
  spec::RunSpec run;
  run.global_batch = 8;
  const auto metrics = run_metrics(run, steps, std::nullopt);
  // Slowest of each steady step: 130 110 130 110 130 ms.
  EXPECT_DOUBLE_EQ(value_of(metrics, "step_time_s"), 0.130);
  EXPECT_DOUBLE_EQ(value_of(metrics, "step_time_mean_s"), 0.122);
  EXPECT_DOUBLE_EQ(value_of(metrics, "sequences_per_s"), 8 / 0.122);
  EXPECT_DOUBLE_EQ(value_of(metrics, "tokens_per_s"), 1000 / 0.122);
  EXPECT_DOUBLE_EQ(value_of(metrics, "warmup_steps"), 1);
  EXPECT_DOUBLE_EQ(value_of(metrics, "steady_steps"), 5);
  // Mean over ranks of the forward halves: 60 52.5 60 52.5 60 ms.
  EXPECT_NEAR(value_of(metrics, "forward_time_s"), 0.060, 1e-12);
  EXPECT_DOUBLE_EQ(value_of(metrics, "probe_spread_fraction"), 0.0) << "ranks are not pooled";
}

// The first step is warm-up. Three of the nine others take 300 ms: 1.5 s for nine steps, which the median does not
// show.
TEST(RunMetrics, AStallInEveryThirdStepAffectsTheMeanAndItsRates) {
  spec::RunSpec run;
  run.global_batch = 4;
  const auto metrics = run_metrics(run, steps_of(0, {900, 100, 100, 300, 100, 100, 300, 100, 100, 300}), std::nullopt);
  EXPECT_DOUBLE_EQ(value_of(metrics, "step_time_s"), 0.100);
  EXPECT_DOUBLE_EQ(value_of(metrics, "step_time_mean_s"), 1.5 / 9);
  EXPECT_DOUBLE_EQ(value_of(metrics, "sequences_per_s"), 9 * 4 / 1.5);
  EXPECT_DOUBLE_EQ(value_of(metrics, "tokens_per_s_per_device"), 9 * 1000 / 1.5);
}

// At its power cap a GPU's clock depends on the steps; before them it depends only on the machine.
TEST(RunMetrics, TheMachinesSpeedIsTheMedianProbeAndOnAGpuTheSmallest) {
  auto steps = steps_of(0, {900, 100, 100, 100, 100, 100});
  const auto second = steps_of(1, {900, 100, 100, 100, 100, 100});  // with the slower machine
  steps.insert(steps.end(), second.begin(), second.end());
  for (auto& step : steps) step.probe_ns += step.step == 0 ? 50'000 : 200'000 + 10'000 * step.step;
  spec::RunSpec run;
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "probe_time_s"), 0.00223);
  run.device = spec::Device::cuda;
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "probe_time_s"), 0.00205);
}

// Steps 4 to 6, two of which were traced and one was recorded again for them.
TEST(RunMetrics, AProfiledRunUsesOnlyItsOtherSteps) {
  const std::vector<std::int64_t> others{900, 140, 130, 110, 100, 120, 110, 105};
  auto profiled = steps_of(0, {900, 140, 130, 110, 700, 800, 800, 100, 120, 110, 105});
  for (std::size_t i = 4; i < 7; ++i) profiled[i].traced = 1;
  profiled.back().loss = 0.5;
  const auto plain = run_metrics({}, steps_of(0, others), std::nullopt);
  for (const auto& [metric, value] : run_metrics({}, profiled, std::nullopt)) {
    EXPECT_EQ(value, metric == "final_loss" ? 0.5 : value_of(plain, metric)) << metric;
  }
  EXPECT_EQ(step_times_s(profiled), step_times_s(steps_of(0, others)));
  for (auto& step : profiled) step.traced = 1;
  EXPECT_TRUE(run_metrics({}, profiled, std::nullopt).empty());
}

TEST(RunMetrics, PercentilesTakeFiftySteadySteps) {
  std::vector<std::int64_t> step_ms(51, 100);  // the first step is always warm-up
  for (std::size_t i = 10; i < step_ms.size(); i += 8) step_ms[i] = 130;
  const auto enough = run_metrics({}, steps_of(0, step_ms), std::nullopt);
  EXPECT_DOUBLE_EQ(value_of(enough, "step_time_p90_s"), 0.13);
  EXPECT_DOUBLE_EQ(value_of(enough, "step_time_p10_s"), 0.1);
  step_ms.pop_back();
  for (const auto& [metric, value] : run_metrics({}, steps_of(0, step_ms), std::nullopt)) {
    EXPECT_FALSE(metric.starts_with("step_time_p")) << metric;
  }
}

// One rank is enough: the others waited for it.
TEST(RunMetrics, LeaveOutAStepThatAnyRankTraced) {
  auto steps = steps_of(0, {500, 100, 100, 900, 100});
  const auto second = steps_of(1, {500, 100, 100, 100, 100});
  steps.insert(steps.end(), second.begin(), second.end());
  steps[3].traced = 1;
  EXPECT_DOUBLE_EQ(value_of(run_metrics({}, steps, std::nullopt), "step_time_mean_s"), 0.1);
}

TEST(Mfu, IsModelFlopsOverThePeakOfAllDevices) {
  spec::RunSpec run;
  run.model = {.name = "m",
               .layers = 1,
               .d_model = 8,
               .n_heads = 1,
               .n_kv_heads = 1,
               .head_dim = 8,
               .d_ff = 16,
               .vocab_size = 32,
               .max_seq_len = 4};
  run.mesh.ici.fsdp = 2;
  run.seq_len = 4;
  run.global_batch = 2;
  // Multiplying weights: q, k, v, o 4*8*8; gate, up, down 3*8*16; unembedding 32*8: 896. Attention 6*1*1*8*4 = 192. 8
  // tokens in 0.5 s on two devices of 1 MFLOP/s: 8 * (6*896 + 192) / 0.5 / 2e6.
  EXPECT_DOUBLE_EQ(mfu_fraction(run, 0.5, 1e6, spec::FlopDefinition::causal), 8 * (6 * 896 + 192) / 0.5 / 2e6);
  EXPECT_DOUBLE_EQ(mfu_fraction(run, 0.5, 1e6, spec::FlopDefinition::palm), 8 * (6 * 896 + 384) / 0.5 / 2e6);
  run.task = spec::Task::eval;  // forward, 2 of 6
  EXPECT_DOUBLE_EQ(mfu_fraction(run, 0.5, 1e6, spec::FlopDefinition::causal), 8 * (2 * 896 + 64) / 0.5 / 2e6);
}

TEST(RunMetrics, AreAllInTheCatalog) {
  for (const auto& [metric, value] : run_metrics({}, steps_of(0, {500, 100, 100, 100}), spec::RunSummary{})) {
    EXPECT_TRUE(spec::find_metric(metric)) << metric;
  }
}

// The mean of the waiting times of the stages, 30 and 10 ms of 100.
TEST(RunMetrics, APipelineHasItsBubble) {
  auto steps = steps_of(0, {100, 100, 100, 100});
  const auto second = steps_of(1, {100, 100, 100, 100});
  for (auto& step : steps) step.bubble_ns = 30'000'000;
  for (auto step : second) {
    step.bubble_ns = 10'000'000;
    steps.push_back(step);
  }
  spec::RunSpec run;
  const auto of = [&](std::string_view name) {
    const auto metrics = run_metrics(run, steps, std::nullopt);
    return std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.metric == name; }) !=
           metrics.end();
  };
  EXPECT_FALSE(of("bubble_time_s"));
  run.mesh.ici.pp = 2;
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "bubble_time_s"), 0.020);
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "bubble_fraction"), 0.2);
  for (const auto* name : {"bubble_time_s", "bubble_fraction"}) EXPECT_TRUE(spec::find_metric(name)) << name;
}

// 4 sequences of 8 tokens with two choices in layers 0, 2 and 4: 192 choices a step.
TEST(RunMetrics, ExpertsReportTheFateOfTheirTokens) {
  auto steps = steps_of(0, {500, 100, 100, 100});
  for (auto& step : steps) {
    step.balance_loss = 3.5 + static_cast<double>(step.step);
    step.expert_load = 1.0 + static_cast<double>(step.step);
  }
  steps[0].dropped_choices = 96;  // warm-up counts too
  steps[2].dropped_choices = 48;
  spec::RunSpec run;
  run.global_batch = 4;
  run.seq_len = 8;
  run.model.layers = 5;
  const auto has_none = [&] {
    const auto metrics = run_metrics(run, steps, std::nullopt);
    const std::set<std::string_view> of_experts{"balance_loss", "expert_load", "dropped_fraction"};
    return std::none_of(metrics.begin(), metrics.end(), [&](const auto& m) { return of_experts.contains(m.metric); });
  };
  EXPECT_TRUE(has_none());
  run.model.moe.n_experts = 4;
  run.model.moe.layer_stride = 2;
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "balance_loss"), 6.5);
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "dropped_fraction"), 144.0 / (4 * 192));
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "expert_load"), (1 + 2 + 3 + 4) / 4.0);
  for (const auto* name : {"balance_loss", "expert_load", "dropped_fraction"})
    EXPECT_TRUE(spec::find_metric(name)) << name;
}

TEST(RunMetrics, DocumentsReportHowManyTokensAreNotPadding) {
  auto steps = steps_of(0, {500, 100, 100, 100});
  for (auto& step : steps) step.tokens = 1000;
  steps[0].padding_tokens = 400;  // warm-up counts too
  steps[2].padding_tokens = 200;
  spec::RunSpec run;
  const auto has_any = [&] {
    const auto metrics = run_metrics(run, steps, std::nullopt);
    return std::any_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.metric == "real_tokens_per_s"; });
  };
  EXPECT_FALSE(has_any());
  run.task = spec::Task::sft;
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "real_tokens_per_s"),
                   (600 + 1000 + 800 + 1000) / 4 / 0.1);
  EXPECT_DOUBLE_EQ(value_of(run_metrics(run, steps, std::nullopt), "tokens_per_s"), 1000 / 0.1);
  run.task = spec::Task::pretrain;
  run.data.packing = spec::Packing::documents;
  EXPECT_TRUE(has_any());
}

TEST(RunMetrics, TheEnergyOfATokenNeedsThePowerOfEveryGpu) {
  auto steps = steps_of(0, {500, 100, 100, 100});
  for (const auto& step : steps_of(1, {500, 100, 100, 100})) steps.push_back(step);
  for (auto& step : steps) step.tokens = 1000;
  std::vector<spec::GpuSample> gpus{
      {.rank = 0, .step = 0, .power_w = 50},  // of the warm-up
      {.rank = 0, .step = 1, .power_w = 600}, {.rank = 0, .step = 3, .power_w = 700},
      {.rank = 1, .step = 2, .power_w = 350}, {.rank = 1, .step = 2, .power_w = -1},  // not reported
      {.rank = 7, .step = 2, .power_w = 500}};                                        // of no rank of the run
  EXPECT_DOUBLE_EQ(value_of(run_metrics(spec::RunSpec(), steps, std::nullopt, gpus), "energy_per_token_j"),
                   (650 + 350) * 0.1 / 1000);
  gpus.erase(gpus.begin() + 3);
  for (const auto& metric : run_metrics(spec::RunSpec(), steps, std::nullopt, gpus)) {
    EXPECT_NE(metric.metric, "energy_per_token_j") << "rank 1 did not report its power";
  }
}

TEST(RunMetrics, IncludeTheResultsOfAnEvaluation) {
  const auto steps = steps_of(0, {500, 100, 100, 100});
  spec::RunSummary summary;
  const auto evaluated = [&] {
    const auto metrics = run_metrics(spec::RunSpec(), steps, summary);
    return std::count_if(metrics.begin(), metrics.end(), [](const auto& m) { return m.metric.starts_with("eval_"); });
  };
  EXPECT_EQ(evaluated(), 0);
  summary.evaluation = {.rows = 4, .tokens = 9, .nll_sum = 18, .perplexity = 7.5, .accuracy = 0.25};
  EXPECT_DOUBLE_EQ(value_of(run_metrics(spec::RunSpec(), steps, summary), "eval_accuracy"), 0.25);
  EXPECT_DOUBLE_EQ(value_of(run_metrics(spec::RunSpec(), steps, summary), "eval_perplexity"), 7.5);
  summary.evaluation.perplexity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(evaluated(), 1);
}

TEST(RunMetrics, LeaveOutAStepThatARankDidNotFinish) {
  auto steps = steps_of(0, {500, 100, 100, 100, 900});
  const auto second = steps_of(1, {500, 100, 100, 100});
  steps.insert(steps.end(), second.begin(), second.end());
  EXPECT_DOUBLE_EQ(value_of(run_metrics({}, steps, std::nullopt), "steady_steps"), 3);
  EXPECT_TRUE(run_metrics({}, {}, std::nullopt).empty());
}

}  // namespace
}  // namespace perfbench::harness
