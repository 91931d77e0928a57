// Adapters beside frozen weights: their initial effect, what stays unchanged, and their equivalent in the weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {
namespace {

class Lora : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

bool of_the_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

spec::RunSpec without_adapters(spec::RunSpec run) {
  run.task = spec::Task::pretrain;
  run.lora = {};
  return run;
}

// b is zero at first, so adapters add exactly nothing. In bf16, weights rounded once equal those rounded for every use.
// A product with an adapter cannot have gelu as its epilogue, and the library may compute gelu differently: such models
// are left out.
TEST_F(Lora, BeginsWithTheLossOfItsModelBitForBit) {
  for (auto run : adapted_runs()) {
    if (run.model.activation == spec::Activation::gelu_tanh) continue;
    for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
      run.precision = precision;
      const auto plain = without_adapters(run);
      TrainingRun adapted(run, init_rule(run), make_single_collectives());
      TrainingRun model(plain, init_rule(plain), make_single_collectives());
      EXPECT_EQ(adapted.step().loss, model.step().loss) << run.model.name;
      EXPECT_NE(adapted.step().loss, model.step().loss) << run.model.name;
    }
  }
}

TEST_F(Lora, ChangesEveryAdapterAndNoWeightOfTheModel) {
  for (auto run : adapted_runs()) {
    run.grad_accum = 2;
    TrainingRun training(run);
    const auto weights_of = [&] {
      std::map<std::string, std::vector<float>> out;
      for (const auto& unit : training.trainer().parameters().units()) {
        for (const auto& p : unit.layout.parameters) out[p.spec.name] = training.weight(p.spec.name);
      }
      return out;
    };
    const auto before = weights_of();
    for (int i = 0; i < 2; ++i) training.step();
    std::size_t adapters = 0;
    for (const auto& [name, after] : weights_of()) {
      const bool trains = name.find(".lora.") != std::string::npos;
      EXPECT_EQ(of_the_same_bits(after, before.at(name)), !trains) << run.model.name << " " << name;
      adapters += trains ? 1 : 0;
    }
    const auto linears = spec::layer_adapters(run.model, run.lora, 0).size();
    EXPECT_EQ(adapters, static_cast<std::size_t>(run.model.layers) * linears) << run.model.name;
  }
}

// Replaces W by W + alpha/rank * B A for every linear layer that has an adapter.
void merge(TrainingRun& adapted, TrainingRun& model) {
  const auto& run = adapted.run();
  for (const auto& a : spec::parameter_table(run.model)) {
    auto weight = adapted.weight(a.name);
    const std::string prefix = "layers." + std::to_string(a.layer) + ".";
    if (a.layer >= 0) {
      const std::string linear = a.name.substr(prefix.size(), a.name.rfind('.') - prefix.size());
      const auto down = adapted.weight(prefix + "lora." + linear + ".a");
      const auto up = adapted.weight(prefix + "lora." + linear + ".b");
      const bool is_weight = a.name.ends_with(".weight");
      const auto rank = static_cast<std::size_t>(run.lora.rank);
      const std::size_t inputs = down.size() / rank;
      for (std::size_t i = 0; is_weight && !down.empty() && i < weight.size(); ++i) {
        double sum = 0;
        for (std::size_t r = 0; r < rank; ++r) {
          sum += static_cast<double>(up[i / inputs * rank + r]) * down[r * inputs + i % inputs];
        }
        weight[i] = static_cast<float>(weight[i] + run.lora.factor() * sum);
      }
    }
    for (const auto& unit : model.trainer().parameters().units()) {
      for (const auto& p : unit.layout.parameters) {
        if (p.spec.name != a.name) continue;
        model.context().ops.upload(unit.weight.view().slice(p.offset, Shape{p.spec.elements()}), weight.data());
      }
    }
  }
}

TEST_F(Lora, ModelWithItsAdaptersMergedHasTheSameLoss) {
  for (const auto& run : adapted_runs()) {
    auto rule = first_weights(run);
    rule.constants_std = 1.0;  // so that adapters have a large effect
    TrainingRun adapted(run, rule, make_single_collectives());
    for (int i = 0; i < 3; ++i) adapted.trainer().step(i);
    TrainingRun model(without_adapters(run));
    const double other = model.trainer().step(3).loss;
    merge(adapted, model);
    const double want = adapted.trainer().step(3).loss;
    // A merged weight is rounded once more, within the same bound.
    EXPECT_NEAR(model.trainer().step(3).loss, want, kSumsInOtherOrder * want) << run.model.name;
    EXPECT_GT(std::abs(other - want), 10 * kSumsInOtherOrder * want) << run.model.name;
  }
}

// The b of the other adapters is zero at first and adds exactly nothing.
TEST_F(Lora, SomeAdaptersHaveTheGradientsThatTheyHaveBesideAllOthers) {
  auto run = lora_tiny();
  TrainingRun all(run, init_rule(run), make_single_collectives());
  all.step();
  for (const auto targets : {spec::LoraTargets::attention, spec::LoraTargets::mlp}) {
    run.lora.targets = targets;
    TrainingRun some(run, init_rule(run), make_single_collectives());
    some.step();
    for (std::int64_t layer = 0; layer < run.model.layers; ++layer) {
      for (const auto& adapter : spec::layer_adapters(run.model, run.lora, layer)) {
        const auto gradient = some.gradient(adapter.name);
        EXPECT_EQ(gradient, all.gradient(adapter.name)) << adapter.name;
        const bool has_some = std::any_of(gradient.begin(), gradient.end(), [](float g) { return g != 0.0F; });
        EXPECT_EQ(has_some, adapter.kind == spec::ParameterKind::adapter_b) << adapter.name;
      }
    }
  }
}

TEST_F(Lora, DryMemoryIsTheRealLedgers) {
  for (auto run : adapted_runs()) {
    for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
      run.precision = precision;
      TrainingRun real(run);
      real.step();
      const auto dry = dry_walk(real.run(), 0);
      const auto peaks = real.ledger().peaks();
      EXPECT_EQ(peaks.total_bytes, dry.peak.total_bytes) << run.model.name;
      EXPECT_EQ(peaks.weights_bytes, dry.peak.weights_bytes) << run.model.name;
      EXPECT_EQ(peaks.gradients_bytes, dry.peak.gradients_bytes) << run.model.name;
      EXPECT_EQ(peaks.optimizer_bytes, dry.peak.optimizer_bytes) << run.model.name;
      EXPECT_EQ(peaks.workspace_bytes, dry.peak.workspace_bytes) << run.model.name;
      EXPECT_EQ(real.arena_bytes(), dry.arena_bytes) << run.model.name;
      EXPECT_EQ(real.flops().executed_flops(), dry.flops.executed_flops()) << run.model.name;
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
