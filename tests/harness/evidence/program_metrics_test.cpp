// The metrics of a training program's run, all from its output and its user's declarations.
#include "harness/evidence/program_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

using spec::Sample;

spec::RunSpec run_with(const std::string& work, const std::string& program = "") {
  return spec::parse_recorded_run(R"({"program":{"command":["a"])" + program + R"(},"schema_version":1)" + work + "}");
}

std::vector<Sample> steps(std::initializer_list<double> times_s, std::int64_t covers = 1) {
  std::vector<Sample> out;
  std::int64_t step = 0;
  for (const double time_s : times_s) {
    step += covers;
    out.push_back({.metric = "step_time_s",
                   .step = step,
                   .covers = covers,
                   .value = time_s,
                   .kind = covers == 1 ? spec::SampleKind::per_step : spec::SampleKind::window_mean});
  }
  return out;
}

std::map<std::string, double> metrics(const spec::RunSpec& run, const std::vector<Sample>& samples,
                                      const std::optional<spec::ProgramResult>& result = {}) {
  std::map<std::string, double> out;
  for (const auto& [metric, value] : program_metrics(run, samples, result)) out[metric] = value;
  return out;
}

TEST(ProgramMetrics, AreMadeOfStepsAloneWhereNothingIsDeclared) {
  const auto found = metrics(run_with(""), steps({0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(found.at("step_time_s"), 0.5);
  EXPECT_EQ(found.at("step_time_mean_s"), 0.5);
  for (const auto* rate : {"tokens_per_s", "sequences_per_s", "tokens_per_s_per_device", "wall_time_s"}) {
    EXPECT_FALSE(found.contains(rate)) << rate;
  }
}

TEST(ProgramMetrics, RatesNeedTheWorkThatTheyAreMadeOf) {
  const auto times = steps({0.5, 0.5, 0.5, 0.5});
  const auto batch = metrics(run_with(R"(,"global_batch":4)"), times);
  EXPECT_EQ(batch.at("sequences_per_s"), 8);
  EXPECT_FALSE(batch.contains("tokens_per_s"));
  const auto tokens = metrics(run_with(R"(,"global_batch":4,"seq_len":10)"), times);
  EXPECT_EQ(tokens.at("tokens_per_s"), 80);
  EXPECT_FALSE(tokens.contains("tokens_per_s_per_device"));
  const auto mesh = metrics(run_with(R"(,"global_batch":4,"seq_len":10,"mesh":{"ici":{"fsdp":2}})"), times);
  EXPECT_EQ(mesh.at("tokens_per_s_per_device"), 40);
}

TEST(ProgramMetrics, MeansOverUnlikeNumbersOfStepsAreWeighted) {
  auto samples = steps({1.0, 1.0}, 10);
  samples.push_back(
      {.metric = "step_time_s", .step = 22, .covers = 2, .value = 4, .kind = spec::SampleKind::window_mean});
  const auto settled = readers::settle(samples, {});
  const auto times_s = step_times_s(settled);
  EXPECT_EQ(times_s.size(), 22U);
  EXPECT_EQ(std::count(times_s.begin(), times_s.end(), 4.0), 2);
}

TEST(ProgramMetrics, ALossThatRepeatsIsExactAndAnotherIsNot) {
  auto samples = steps({1, 1, 1});
  samples.push_back({.metric = "loss", .step = 1, .value = 4});
  samples.push_back({.metric = "loss", .step = 2, .value = 3});
  EXPECT_EQ(metrics(run_with(""), samples).at("printed_loss"), 3);
  const auto exact = metrics(run_with("", R"(,"deterministic":true)"), samples);
  EXPECT_EQ(exact.at("final_loss"), 3);
  EXPECT_FALSE(exact.contains("printed_loss"));
}

TEST(ProgramMetrics, DeclaredOnesAreTheMedianOrTheLastValue) {
  std::vector<Sample> samples;
  std::int64_t step = 0;
  for (const double value : {1.0, 5.0, 2.0}) samples.push_back({.metric = "reward", .step = ++step, .value = value});
  const std::string declared = R"j(,"metrics":{"reward":{"regex":"r=(?P<value>\\S+)","unit":"1")j";
  EXPECT_EQ(metrics(run_with("", declared + "}}"), samples).at("reward"), 2);
  EXPECT_EQ(metrics(run_with("", declared + R"(,"take":"last"}})"), samples).at("reward"), 2);
  samples.back().value = 9;
  EXPECT_EQ(metrics(run_with("", declared + "}}"), samples).at("reward"), 5);
  EXPECT_EQ(metrics(run_with("", declared + R"(,"take":"last"}})"), samples).at("reward"), 9);
}

TEST(ProgramMetrics, WallTimeAndMemoryComeFromTheAdapter) {
  const auto found = metrics(run_with(""), {}, spec::ProgramResult{.wall_ns = 2'000'000'000, .resident_bytes = 77});
  EXPECT_EQ(found.at("wall_time_s"), 2);
  EXPECT_EQ(found.at("resident_bytes"), 77);
  EXPECT_FALSE(found.contains("startup_time_s"));  // it was not measured
  EXPECT_FALSE(found.contains("step_time_s"));
}

TEST(ProgramMetrics, StepsThatTheReaderGetsWrongAreInNoTiming) {
  const auto run = run_with("", R"(,"reader":"nanogpt")");  // drops two
  const auto found = metrics(run, steps({9, 9, 1, 1, 1, 1}));
  EXPECT_EQ(found.at("step_time_mean_s"), 1);
}

}  // namespace
}  // namespace perfbench::harness
