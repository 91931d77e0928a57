#include "harness/predict/step_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/predict/device_costs.h"
#include "tests/harness/predict/predictor_inputs.h"

namespace perfbench::predict {
namespace {

double predicted_s(const TrainingSetup& setup) {
  return step_time(step_parts(setup)).total_s;
}

// The golden file was computed by an independent program in Python from the formulas and the same figures: one row for
// each combination of stack, device, attention, recomputation and parallelism. It prints 12 digits.
TEST(StepTime, IsThatOfAnIndependentProgramForEveryKindOfRow) {
  std::ifstream file(std::string(PERFBENCH_SOURCE_DIR) + "/tests/golden/predicted_step_times.json");
  const auto golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden.size(), 80U);
  constexpr double kTolerance = 1e-9;  // both compute with doubles, in another order
  for (const auto& [name, seconds] : golden.items()) {
    const double wanted = seconds.get<double>();
    EXPECT_NEAR(step_time(shipped_row(name).parts).total_s / wanted, 1, kTolerance) << name;
  }
}

TEST(StepTime, IsTheSumOfItsTermsNoneOfWhichIsNegative) {
  ASSERT_GT(shipped().samples.size(), 400U);
  for (const auto& sample : shipped().samples) {
    for (const auto& corrections : {Corrections(), Corrections{.matmul = 0.2, .network = -0.3, .contention = 0.4}}) {
      const auto time = step_time(sample.parts, corrections);
      const double sum = std::accumulate(time.terms_s.begin(), time.terms_s.end(), 0.0);
      EXPECT_NEAR(sum / time.total_s, 1, 1e-12) << sample.published.name;
      for (const double term : time.terms_s) EXPECT_GE(term, -1e-15) << sample.published.name;
    }
  }
}

TEST(StepTime, NeverGrowsWithMoreBandwidth) {
  std::size_t faster = 0;
  for (const auto& sample : shipped().samples) {
    const double usual = step_time(sample.parts).total_s;
    auto device = *sample.published.setup.device;
    device.hardware.memory_bytes_per_s *= 2;
    device.figures.memory_bytes_per_s *= 2;
    device.figures.node_bus_bytes_per_s *= 2;
    device.figures.link_bytes_per_s *= 2;
    auto setup = sample.published.setup;
    setup.node_network_bytes_per_s *= 2;
    setup.device = &device;
    const double wide = predicted_s(setup);
    EXPECT_LE(wide, usual * (1 + 1e-12)) << sample.published.name;
    faster += wide < 0.99 * usual ? 1 : 0;
  }
  EXPECT_GT(faster, 300U) << "bandwidth must matter to most rows";
}

TEST(StepTime, GrowsByTheSameTimeForEachLayer) {
  for (const char* name : {"maxtext/llama2-7b-8xh100", "seqax/1b-8xa100", "fms-fsdp/7b-h100", "llmq/h100x1-3b-bf16"}) {
    auto setup = shipped_row(name).published.setup;
    const auto with_layers = [&setup](std::int64_t layers) {
      setup.model.layers = layers;
      return predicted_s(setup);
    };
    const double first = with_layers(20) - with_layers(10);
    const double second = with_layers(30) - with_layers(20);
    EXPECT_GT(first, 0) << name;
    EXPECT_NEAR(second / first, 1, 1e-9) << name;
  }
}

TEST(StepTime, RecomputingMoreTakesLonger) {
  using enum spec::Recomputation;
  auto setup = shipped_row("maxtext/llama2-7b-8xh100").published.setup;
  double before = 0;
  for (const auto recompute : {none, minimal_flash, dots, full}) {
    setup.recompute = recompute;
    const double now = predicted_s(setup);
    EXPECT_GT(now, before) << spec::enum_name(recompute);
    before = now;
  }
}

TEST(StepTime, APipelineIdlesLessWithMoreMicrobatchesOrChunks) {
  auto setup = shipped_row("megatron/2022-175b-selective").published.setup;
  const auto idle_share = [&setup] {
    const auto time = step_time(step_parts(setup));
    return time.term_s(StepTerm::pipeline) / time.total_s;
  };
  const double usual = idle_share();
  setup.interleaving = 1;
  const double plain = idle_share();
  setup.microbatches *= 4;
  EXPECT_GT(plain, usual);
  EXPECT_LT(idle_share(), plain);
}

TEST(StepTime, ALaunchBoundLayerTakesTheTimeOfItsHost) {
  StepParts parts{.layers = 10, .eager_floor_s = 0.003};
  parts.forward.matmul_s = 0.0001;
  const auto time = step_time(parts);
  EXPECT_NEAR(time.total_s, 10 * 0.003, 1e-12);
  EXPECT_EQ(time.largest_term(), "launches");
  parts.forward.matmul_s = 0.002;
  parts.backward.matmul_s = 0.004;
  EXPECT_NEAR(step_time(parts).total_s, 10 * 0.006, 1e-12);
}

TEST(StepTime, HiddenCommunicationCostsItsContention) {
  StepParts parts{.layers = 1, .overlap_fraction = 1, .contention_fraction = 0.3};
  parts.forward.matmul_s = 0.010;
  parts.forward_gather_s = 0.004;
  EXPECT_NEAR(step_time(parts).total_s, 0.010 + 0.3 * 0.004, 1e-12);
  parts.forward_gather_s = 0.014;  // 4 ms stay exposed
  EXPECT_NEAR(step_time(parts).total_s, 0.010 + 0.3 * 0.010 + 0.004, 1e-12);
}

// The ramp of the inner dimension costs 1 %, and the last wave of tiles a few per cent.
TEST(DeviceCosts, ALargeProductComesNearTheSustainedRate) {
  const auto& device = shipped().data.devices.at("h100");
  const double seconds = product_seconds(device, {16384, 16384, 16384});
  const double sustained = 2.0 * std::pow(16384.0, 3) / (0.68 * 989e12);
  EXPECT_GT(seconds, sustained);
  EXPECT_LT(seconds, 1.05 * sustained);
}

TEST(DeviceCosts, AThinProductIsBoundByMemory) {
  const auto& device = shipped().data.devices.at("h100");
  const double bytes = 2.0 * (16 * 8192 + 8192 * 8192 + 16 * 8192);
  EXPECT_NEAR(product_seconds(device, {16, 8192, 8192}) / (bytes / (3.35e12 * 0.88)), 1, 1e-9);
}

TEST(DeviceCosts, AnAllReduceMovesTwiceTheBytesOfAGather) {
  const auto& device = shipped().data.devices.at("h100");
  const auto seconds = [&device](CollectiveKind kind, std::int64_t ranks) {
    return collective_seconds(device, {.kind = kind, .bytes = 8e9, .ranks = ranks, .ranks_in_node = 8});
  };
  EXPECT_EQ(seconds(CollectiveKind::all_gather, 1), 0);
  EXPECT_NEAR(seconds(CollectiveKind::all_reduce, 8) / seconds(CollectiveKind::all_gather, 8), 2, 0.01);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 8), 8e9 * 7 / 8 / 362e9, 1e-4);
}

// Tables of order statistics give 0.564 for two normal numbers, 1.424 for eight and 3.04 for 512.
TEST(ExpectedMaximum, IsThatOfNormalNumbers) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.564, 0.01);
  EXPECT_NEAR(expected_maximum(8), 1.424, 0.1);
  EXPECT_NEAR(expected_maximum(512), 3.04, 0.1);
}

}  // namespace
}  // namespace perfbench::predict
