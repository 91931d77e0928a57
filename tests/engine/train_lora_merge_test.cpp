// A run merges its adapters into its weights before it evaluates: what happens to both, and that the model computes the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class LoraMerge : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

spec::RunSpec merging(spec::RunSpec run) {
  run.lora.merge = true;
  run.evaluation.path = "made up";
  return run;
}

spec::RunSpec in_bf16(spec::RunSpec run) {
  run.precision = spec::Precision::bf16;
  return run;
}

// In f32, and in bf16 with each way of converting adapters for products.
std::vector<spec::RunSpec> in_every_type(const spec::RunSpec& run) {
  auto kept = in_bf16(run);
  kept.bf16_weights = spec::Bf16Weights::kept;
  auto by_chance = in_bf16(run);
  by_chance.rounding = spec::Rounding::stochastic;
  if (is_slow()) return {kept};
  return {run, in_bf16(run), kept, by_chance};
}

// Large adapters have a large effect.
InitRule with_large_adapters(const spec::RunSpec& run) {
  auto rule = first_weights(run);
  rule.constants_std = 1.0;
  return rule;
}

// Some steps, and what follows the last one.
struct Trained {
  Trained(const spec::RunSpec& run, int steps) : training(run, with_large_adapters(run), make_single_collectives()) {
    for (int i = 0; i < steps; ++i) training.step();
  }
  const std::vector<RowScore>& evaluated() {
    training.trainer().evaluate_at_end();
    return training.trainer().evaluator()->rows();
  }
  TrainingRun training;
};

float of_bf16(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

// f32, or an even number of bf16.
std::vector<float> values_of(const TensorView& values) {
  if (values.dtype == DType::f32) return to_host(values);
  std::vector<float> out;
  for (const float pair : to_host({values.data, DType::f32, Shape{values.elements() / 2}})) {
    const auto bits = std::bit_cast<std::uint32_t>(pair);
    out.push_back(of_bf16(bits & 0xFFFFU));
    out.push_back(of_bf16(bits >> 16));
  }
  return out;
}

using ByName = std::map<std::string, std::vector<float>>;

// The weights of every parameter, and under "bf16 " and its name the copy that some have.
ByName weights_of(TrainingRun& training) {
  ByName out;
  for (const auto& unit : training.trainer().parameters().units()) {
    for (const auto& [prefix, weights] : {std::pair{"", &unit.weight}, std::pair{"bf16 ", &unit.bf16_weight}}) {
      if (!weights->defined()) continue;
      const auto all = values_of(*weights);
      for (const auto& p : unit.layout.parameters) {
        const auto first = all.begin() + p.offset;
        out[prefix + p.spec.name] = std::vector(first, first + p.spec.elements());
      }
    }
  }
  return out;
}

// As the products of the evaluation read them.
ByName adapters_of(TrainingRun& training) {
  ByName out;
  auto& gatherer = training.trainer().gatherer();
  auto& store = training.trainer().parameters();
  gatherer.begin_step(0);
  for (std::int64_t layer = 0; layer < training.run().model.layers; ++layer) {
    const auto index = store.adapters(layer).value();
    GatheredUnit unit = gatherer.gather(index);
    unit.wait(training.context().clock);
    for (const auto& p : store.unit(index).layout.parameters) {
      out[p.spec.name] = values_of(unit.weight({p.offset, Shape(p.slice.shape)}));
    }
  }
  return out;
}

// To nearest even.
float rounded(double value, DType dtype) {
  const auto as_f32 = static_cast<float>(value);
  if (dtype == DType::f32) return as_f32;
  const auto bits = std::bit_cast<std::uint32_t>(as_f32);
  return of_bf16((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

// W + factor * B A. In f32 it has the rounding of `rank` products, of as many additions (the last to W) and of the
// factor: gamma_n of the sum of magnitudes, n = rank + 2 (Higham, "Accuracy and Stability", 3.1), one more for higher
// orders, and one for this function's own f32. Rounding to W's type is monotonic: the weight lies between the rounded
// ends of that range, which in bf16 are mostly one value.
void expect_merged(const spec::RunSpec& run, const std::vector<float>& got, const std::vector<float>& before,
                   const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  const auto rank = static_cast<std::size_t>(run.lora.rank);
  const DType dtype = run.precision == spec::Precision::bf16 ? DType::bf16 : DType::f32;
  const std::size_t inputs = a.size() / rank;
  ASSERT_EQ(got.size(), b.size() / rank * inputs) << what;
  std::size_t outside = 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double sum = 0;
    double magnitude = 0;
    for (std::size_t r = 0; r < rank; ++r) {
      const double product = static_cast<double>(b[i / inputs * rank + r]) * a[r * inputs + i % inputs];
      sum += product;
      magnitude += std::abs(product);
    }
    const double want = before[i] + run.lora.factor() * sum;
    const double error =
        static_cast<double>(rank + 4) * 0x1p-24 * (std::abs(before[i]) + run.lora.factor() * magnitude);
    if (got[i] < rounded(want - error, dtype) || got[i] > rounded(want + error, dtype)) ++outside;
    if (got[i] != before[i]) ++changed;
  }
  EXPECT_EQ(outside, 0U) << what;
  EXPECT_GT(changed, got.size() / 2) << what;
}

TEST_F(LoraMerge, AddsEachAdapterToItsWeightWithOneRounding) {
  for (const auto& adapted : adapted_runs()) {
    for (const auto& run : in_every_type(merging(adapted))) {
      Trained trained(run, 2);
      const auto before = weights_of(trained.training);
      const auto adapters = adapters_of(trained.training);
      trained.training.trainer().gatherer().begin_step(1);  // as the last step left it
      trained.evaluated();
      std::size_t merged = 0;
      for (const auto& [name, after] : weights_of(trained.training)) {
        const auto what = run.model.name + " " + std::string(spec::enum_name(run.precision)) + " " + name;
        if (name.find(".lora.") != std::string::npos && name.ends_with(".b")) {
          EXPECT_EQ(after, std::vector<float>(after.size(), 0.0F)) << what;
          continue;
        }
        const auto in_layer = name.find('.', name.find('.') + 1);  // "layers.3"
        const auto adapter = in_layer == std::string::npos ? name
                                                           : name.substr(0, in_layer) + ".lora" +
                                                                 name.substr(in_layer, name.rfind('.') - in_layer);
        if (name.ends_with(".weight") && adapters.contains(adapter + ".a")) {
          expect_merged(run, after, before.at(name), adapters.at(adapter + ".a"), adapters.at(adapter + ".b"), what);
          ++merged;
        } else {
          EXPECT_TRUE(same_bits(after, before.at(name))) << what;
        }
      }
      EXPECT_EQ(2 * merged, adapters.size()) << run.model.name;
    }
  }
}

// Two trainings with equal bits, one of which merges. A merged weight is rounded once more, within the bound for the
// loss of a target, and so for the likelihood of each.
TEST_F(LoraMerge, KeepsScoresAndTheNextLoss) {
  for (auto run : adapted_runs()) {
    run.evaluation.path = "made up";
    Trained beside(run, 2);
    Trained merged(merging(run), 2);
    const auto want = beside.evaluated();
    const auto got = merged.evaluated();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double magnitude = static_cast<double>(want[i].targets) + std::abs(want[i].log_likelihood);
      EXPECT_NEAR(got[i].log_likelihood, want[i].log_likelihood, kSumsInOtherOrder * magnitude)
          << run.model.name << " row " << i;
      EXPECT_EQ(got[i].targets, want[i].targets);
    }
    const double loss = beside.training.step().loss;
    EXPECT_NEAR(merged.training.step().loss, loss, kSumsInOtherOrder * loss) << run.model.name;
  }
}

// Whether steps and layers are recorded, in the training before and after, and whether bf16 weights are kept. The third
// step is the first that replays.
TEST_F(LoraMerge, GivesTheSameBitsHoweverTheRunIsExecuted) {
  for (const auto& adapted : {lora_tiny(), lora_mlp_tiny()}) {
    for (auto run : {merging(adapted), in_bf16(merging(adapted))}) {
      run.device_graphs = false;
      Trained executed(run, 3);
      const auto rows = executed.evaluated();
      const double loss = executed.training.step().loss;
      run.device_graphs = true;
      auto scanned = run;
      scanned.scan = true;
      auto kept = run;
      if (run.precision == spec::Precision::bf16) kept.bf16_weights = spec::Bf16Weights::kept;
      for (const auto& other : {run, scanned, kept}) {
        Trained trained(other, 3);
        const auto& found = trained.evaluated();
        ASSERT_EQ(found.size(), rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
          EXPECT_EQ(found[i].log_likelihood, rows[i].log_likelihood) << run.model.name << " row " << i;
        }
        EXPECT_EQ(trained.training.step().loss, loss) << run.model.name;
      }
    }
  }
}

TEST_F(LoraMerge, TakesThePlannedMemoryAndAddsNoWorkToAStep) {
  for (const auto& adapted : adapted_runs()) {
    for (auto run : {merging(adapted), in_bf16(merging(adapted))}) {
      run.remat = "full";
      Trained real(run, 1);
      real.evaluated();
      const auto& planned = real.training.run();
      const auto dry = dry_walk(planned, 0);
      EXPECT_EQ(real.training.ledger().peaks().total_bytes, dry.peak.total_bytes) << run.model.name;
      EXPECT_EQ(real.training.ledger().peaks().gathered_bytes, dry.peak.gathered_bytes) << run.model.name;
      EXPECT_EQ(real.training.ledger().peaks().workspace_bytes, dry.peak.workspace_bytes) << run.model.name;
      EXPECT_EQ(real.training.arena_bytes(), dry.arena_bytes) << run.model.name;
      auto beside = planned;
      beside.lora.merge = false;
      EXPECT_EQ(dry.flops.executed_flops(), dry_walk(beside, 0).flops.executed_flops()) << run.model.name;
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
