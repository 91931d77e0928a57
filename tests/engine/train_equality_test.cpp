// Changes that must not affect a training run, and what the dry walk must report about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/oracle/operand.h"
#include "tests/engine/training.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::engine {
namespace {

void expect_same_steps(const std::vector<TrainedStep>& steps, const std::vector<TrainedStep>& expected) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].loss, expected[i].loss) << i;
    EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << i;
  }
}

class Training : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

std::vector<spec::RunSpec> sized_for_device(std::vector<spec::RunSpec> runs) {
  for (auto& run : runs) run = engine::sized_for_device(run);
  return runs;
}
std::vector<spec::RunSpec> dense_families() {
  if (is_slow()) return sized_for_device({gpt_tiny(), llama_tiny()});
  return {gpt_tiny(), llama_tiny(), t5_tiny()};
}
std::vector<spec::RunSpec> families() {
  if (is_slow()) return sized_for_device({t5_tiny(), lora_tiny(), packed(llama_tiny()), dropped(glam_tiny())});
  return {gpt_tiny(),  llama_tiny(),    qwen3_tiny(),         t5_tiny(),           dropless_tiny(),     glam_tiny(),
          lora_tiny(), lora_mlp_tiny(), packed(llama_tiny()), dropped(gpt_tiny()), dropped(glam_tiny())};
}

// For any number of layers, microbatches and sequences: with two experts a token chooses both, with four at most
// half of them.
TEST_F(Training, TheLoadOfExpertsIsOneIfAllHaveTheSame) {
  auto run = dropless_tiny();
  run.model.layers = 3;
  run.model.moe.layer_stride = 2;
  run.grad_accum = 2;
  run.steps = 2;
  for (const auto& step : TrainingRun(run).all_steps()) {
    EXPECT_GT(step.expert_load, 1.0);
    EXPECT_LE(step.expert_load, 2.0);
  }
  run.model.moe.n_experts = 2;
  for (const auto& step : TrainingRun(run).all_steps()) EXPECT_EQ(step.expert_load, 1.0);
}

TEST_F(Training, SameSeedSameBits) {
  for (const auto& run : families()) {
    TrainingRun a(run);
    TrainingRun b(run);
    for (std::int64_t i = 0; i < run.steps; ++i) EXPECT_EQ(a.step().loss, b.step().loss);
    EXPECT_TRUE(same_bits(a.all_gradients(), b.all_gradients()));
  }
}

constexpr spec::Precision kPrecisions[] = {spec::Precision::fp32, spec::Precision::bf16, spec::Precision::fp8};

struct RematCase {
  spec::RunSpec run;
  spec::AttentionKind attention;
  spec::Precision precision;
};

std::vector<RematCase> remat_cases() {
  if (is_slow()) {
    return {{llama_tiny(), spec::AttentionKind::flash, spec::Precision::fp8},
            {t5_tiny(), spec::AttentionKind::dot_product, spec::Precision::bf16},
            {dropped(glam_tiny()), spec::AttentionKind::flash, spec::Precision::bf16},
            {lora_tiny(), spec::AttentionKind::flash, spec::Precision::fp32}};
  }
  std::vector<RematCase> cases;
  for (const auto& run : families()) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      // Experts do not interact with attention.
      if (run.model.moe.n_experts > 0 && kind == spec::AttentionKind::dot_product) continue;
      for (const auto precision : kPrecisions) cases.push_back({run, kind, precision});
    }
  }
  return cases;
}

std::string name_of(const RematCase& c) {
  const std::string family = c.run.model.name.substr(0, c.run.model.name.find('-'));
  return family + "_" + std::string(spec::enum_name(c.attention)) + "_" + std::string(spec::enum_name(c.precision));
}
void PrintTo(const RematCase& c, std::ostream* out) {
  *out << name_of(c);
}

std::vector<std::string> policies() {
  if (is_slow()) return {"full", "minimal_offloaded", std::string(spec::kCustomRemat)};
  return spec::remat_policy_names();
}

class Remat : public Training, public testing::WithParamInterface<RematCase> {};
INSTANTIATE_TEST_SUITE_P(Training, Remat, testing::ValuesIn(remat_cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Remat, EveryPolicyGivesTheBitsOfNone) {
  auto run = engine::sized_for_device(GetParam().run);
  run.steps = 2;  // the second step shows the effect of the first one's gradients on the weights
  run.attention = GetParam().attention;
  run.precision = GetParam().precision;
  TrainingRun none(run);
  const auto expected = none.all_steps();
  for (const auto& policy : policies()) {
    run.remat = policy;
    run.remat_custom.clear();
    if (policy == spec::kCustomRemat) {
      run.remat_custom = {{"context", spec::SavePlace::device},
                          {"mlpwi_0", spec::SavePlace::offload},
                          {"mlpwi_1", spec::SavePlace::offload}};
    }
    TrainingRun with(run);
    const auto steps = with.all_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].loss, expected[i].loss) << policy;
      EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << policy;
      EXPECT_EQ(steps[i].balance_loss, expected[i].balance_loss) << policy;
      EXPECT_EQ(steps[i].expert_load, expected[i].expert_load) << policy;
      EXPECT_EQ(steps[i].dropped_choices, expected[i].dropped_choices) << policy;
    }
    EXPECT_TRUE(same_bits(with.all_gradients(), none.all_gradients())) << policy;
  }
}

// One of each group of products is kept, another one offloaded, the others recomputed separately. With different places
// they are separate products, whatever else is requested.
TEST_P(Remat, SeparateProductsMayHaveDifferentPlaces) {
  auto run = GetParam().run;
  run.steps = 2;
  run.attention = GetParam().attention;
  run.precision = GetParam().precision;
  run.fused_qkv = run.fused_mlp = false;
  TrainingRun none(run);
  const auto expected = none.all_steps();
  run.remat = spec::kCustomRemat;
  run.remat_custom = {{"query_proj", spec::SavePlace::device},
                      {"value_proj", spec::SavePlace::offload},
                      {"mlpwi_1", spec::SavePlace::offload}};
  run.fused_qkv = run.fused_mlp = true;
  TrainingRun apart(run);
  const auto steps = apart.all_steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].loss, expected[i].loss);
    EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm);
  }
  EXPECT_TRUE(same_bits(apart.all_gradients(), none.all_gradients()));
}

// A step replayed from its recording, a layer recorded for all layers, and every operation by itself.
void expect_recorded_steps(spec::RunSpec run) {
  run.steps = 4;  // executed, recorded, replayed twice
  run.grad_accum = 2;
  run.remat = "qkv_proj_offloaded";  // also joins the stream of the transfers
  run.device_graphs = false;
  TrainingRun executed(run);
  const auto expected = executed.all_steps();
  run.device_graphs = true;
  for (const bool scan : {false, true}) {
    run.scan = scan;
    TrainingRun recorded(run);
    const auto steps = recorded.all_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].loss, expected[i].loss) << "step " << i << " scan " << scan;
      EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << "step " << i << " scan " << scan;
    }
    EXPECT_TRUE(same_bits(recorded.all_gradients(), executed.all_gradients())) << "scan " << scan;
    EXPECT_EQ(recorded.flops().model_flops(), executed.flops().model_flops());
  }
}

TEST_F(Training, RecordedStepsHaveTheBitsOfExecutedOnes) {
  for (const auto& run : families()) expect_recorded_steps(run);
}

// Scales that a step makes for the next one are read in place.
TEST_F(Training, RecordedStepsInFp8HaveTheBitsOfExecutedOnes) {
  auto run = engine::sized_for_device(llama_tiny());
  run.precision = spec::Precision::fp8;
  for (const auto scaling : {spec::Fp8Scaling::delayed, spec::Fp8Scaling::current}) {
    run.fp8_scaling = scaling;
    expect_recorded_steps(run);
  }
}

TEST_F(Training, StochasticRoundingDrawsAnewInEveryStep) {
  auto run = gpt_tiny();
  run.precision = spec::Precision::bf16;
  run.rounding = spec::Rounding::stochastic;
  TrainingRun training(run);
  auto& gatherer = training.trainer().gatherer();
  auto& parameters = training.trainer().parameters();
  const auto unit_index = parameters.layer(1);
  const auto up = parameters.unit(unit_index).layout.place("up.weight");
  const auto gathered = [&] {
    GatheredUnit unit = gatherer.gather(unit_index);
    unit.wait(training.context().clock);
    const TensorView weight = unit.weight(up);
    return to_host({weight.data, DType::f32, Shape{weight.elements() / 2}});  // the bits of two at a time
  };
  training.step();
  training.step();
  const auto of_step = gathered();
  EXPECT_TRUE(same_bits(gathered(), of_step));
  gatherer.begin_step(2);
  EXPECT_FALSE(same_bits(gathered(), of_step));
  gatherer.begin_step(1);
  EXPECT_TRUE(same_bits(gathered(), of_step));
}

// Draws depend on step and element: they are the same however a step is executed, and whether a layer's weights are
// gathered for the first time or again.
TEST_F(Training, StochasticRoundingHasTheSameBitsHoweverItIsExecuted) {
  auto run = gpt_tiny();
  run.steps = 4;
  run.precision = spec::Precision::bf16;
  TrainingRun nearest(run);
  run.rounding = spec::Rounding::stochastic;
  run.device_graphs = false;
  TrainingRun executed(run);
  const auto expected = executed.all_steps();
  EXPECT_NE(nearest.step().loss, expected[0].loss);
  run.device_graphs = true;
  run.remat = "full";
  TrainingRun recorded(run);
  const auto steps = recorded.all_steps();
  expect_same_steps(steps, expected);
  EXPECT_TRUE(same_bits(recorded.all_gradients(), executed.all_gradients()));
  EXPECT_EQ(recorded.arena_bytes(), dry_walk(recorded.run(), 0).arena_bytes);
  // Another seed rounds differently; the initial weights get a fixed rule, so that they do not differ as well.
  const auto init = init_rule(run);
  ++run.seed;
  TrainingRun other(run, init, make_single_collectives());
  EXPECT_NE(other.step().loss, expected[0].loss);
}

// Their draws also depend on step and element. Optimizer states are half as large as in f32, except that two tensors of
// each unit may not be whole blocks of the arena; everything else is unchanged.
TEST_F(Training, Bf16MomentsHaveTheSameBitsHoweverAStepIsExecuted) {
  for (auto run : dense_families()) {
    run.steps = 4;
    run.device_graphs = false;
    TrainingRun in_f32(run);
    const auto want = in_f32.all_steps();
    run.optimizer.moments = spec::StateType::bf16;
    TrainingRun executed(run);
    const auto expected = executed.all_steps();
    // The first update uses the f32 moments before they are rounded, at most in another order of rounding.
    EXPECT_NEAR(expected[1].loss, want[1].loss, kSumsInOtherOrder * want[1].loss);
    EXPECT_NE(expected[3].loss, want[3].loss);
    run.device_graphs = true;
    run.remat = "full";
    TrainingRun recorded(run);
    const auto steps = recorded.all_steps();
    expect_same_steps(steps, expected);
    const auto peaks = executed.ledger().peaks();
    const auto states = in_f32.ledger().peaks().optimizer_bytes;
    const auto units = static_cast<std::int64_t>(executed.trainer().parameters().units().size());
    EXPECT_GE(2 * peaks.optimizer_bytes, states);
    EXPECT_LE(2 * peaks.optimizer_bytes, states + 2 * units * 256);
    EXPECT_EQ(peaks.weights_bytes, in_f32.ledger().peaks().weights_bytes);
    EXPECT_EQ(peaks.total_bytes, dry_walk(executed.run(), 0).peak.total_bytes);
    EXPECT_EQ(executed.arena_bytes(), dry_walk(executed.run(), 0).arena_bytes);
  }
}

// One microbatch's gradients are those of f32, rounded to nearest, where a parameter has one contribution in a step:
// all but a tied embedding. However the step is executed, the bits are the same; the memory is half, except for the
// blocks of the arena.
TEST_F(Training, Bf16GradientsAreThoseOfF32RoundedOnce) {
  for (auto run : dense_families()) {
    run.steps = 3;
    run.device_graphs = false;
    TrainingRun in_f32(run);
    in_f32.step();
    run.optimizer.gradients = spec::StateType::bf16;
    TrainingRun once(run);
    once.step();
    std::int64_t compared = 0;
    for (const auto& unit : in_f32.trainer().parameters().units()) {
      for (const auto& parameter : unit.layout.parameters) {
        if (run.model.tied_embedding && parameter.spec.kind == spec::ParameterKind::embedding) continue;
        const auto want = in_f32.gradient(parameter.spec.name);
        const auto got = once.gradient(parameter.spec.name);
        for (std::size_t i = 0; i < want.size(); ++i, ++compared) {
          ASSERT_EQ(got[i], static_cast<float>(oracle::rounded_to(DType::bf16, want[i]))) << parameter.spec.name;
        }
      }
    }
    EXPECT_GT(compared, 0);
    for (const std::int64_t microbatches : {1, 2}) {
      run.grad_accum = microbatches;
      run.device_graphs = false;
      run.remat = "none";
      TrainingRun executed(run);
      const auto expected = executed.all_steps();
      run.device_graphs = true;
      run.remat = "full";
      expect_same_steps(TrainingRun(run).all_steps(), expected);
      // Each gradient has one rounding, each sum of microbatches another: together 2^-8 of a norm.
      auto other = executed.run();
      other.optimizer.gradients = spec::StateType::fp32;
      EXPECT_NEAR(expected[0].grad_norm, TrainingRun(other).all_steps()[0].grad_norm, 0x1p-8 * expected[0].grad_norm);
      expect_planned_memory(executed, dry_walk(executed.run(), 0), run.model.name);
      const auto gradients = 2 * executed.ledger().peaks().gradients_bytes;
      const auto units = static_cast<std::int64_t>(executed.trainer().parameters().units().size());
      EXPECT_GE(gradients, in_f32.ledger().peaks().gradients_bytes);
      EXPECT_LE(gradients, in_f32.ledger().peaks().gradients_bytes + units * 256);
    }
  }
}

// It holds the gradients of one unit at a time, and with a tied embedding also that unit's. The sum of their squares
// adds positive numbers in another order: n elements differ by gamma_n (Higham, 4.2) in f64.
TEST_F(Training, AnUpdateInTheBackwardPassHasTheBitsOfALaterOne) {
  for (auto run : families()) {
    run.steps = 3;
    run.optimizer.clip_norm = 0;
    run.device_graphs = false;
    TrainingRun behind(run);
    const auto expected = behind.all_steps();
    const auto weights = behind.all_weights();
    const double in_another_order = static_cast<double>(weights.size()) * 0x1p-53;
    run.optimizer.in_backward = true;
    for (const auto& [graphs, scan] : {std::pair{false, false}, {true, false}, {true, true}}) {
      run.device_graphs = graphs;
      run.scan = scan;
      TrainingRun within(run);
      const auto steps = within.all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].loss, expected[i].loss) << run.model.name << " step " << i << " scan " << scan;
        EXPECT_NEAR(steps[i].grad_norm, expected[i].grad_norm, in_another_order * expected[i].grad_norm);
      }
      EXPECT_TRUE(same_bits(within.all_weights(), weights)) << run.model.name << " scan " << scan;
      std::vector<std::int64_t> of_units;
      for (const auto& unit : within.trainer().parameters().units()) {
        EXPECT_FALSE(unit.gradient.defined()) << unit.layout.name;
        if (unit.layout.trains) of_units.push_back(unit.layout.shard_elements * 4);
      }
      std::sort(of_units.rbegin(), of_units.rend());
      constexpr std::int64_t kBlock = 256;  // of the arena
      const auto peaks = within.ledger().peaks();
      EXPECT_LE(peaks.gradients_bytes, of_units[0] + (run.model.tied_embedding ? of_units[1] + kBlock : 0) + kBlock);
      EXPECT_GE(peaks.gradients_bytes, of_units[0]);
      EXPECT_EQ(peaks.total_bytes, dry_walk(within.run(), 0).peak.total_bytes) << run.model.name;
      EXPECT_EQ(within.arena_bytes(), dry_walk(within.run(), 0).arena_bytes) << run.model.name;
    }
  }
}

// From the first step on, with microbatches, executed, recorded and replayed: the update writes what a cast would have
// made.
TEST_F(Training, KeptBf16WeightsGiveTheBitsOfCastOnes) {
  for (auto run : dense_families()) {
    run.precision = spec::Precision::bf16;
    run.grad_accum = 2;
    run.steps = 4;
    TrainingRun cast(run);
    const auto expected = cast.all_steps();
    SCOPED_TRACE(run.model.name);
    run.bf16_weights = spec::Bf16Weights::kept;
    for (const bool scan : {false, true}) {
      run.scan = scan;
      TrainingRun kept(run);
      const auto steps = kept.all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].loss, expected[i].loss) << "step " << i << " scan " << scan;
        EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << "step " << i << " scan " << scan;
      }
      EXPECT_TRUE(same_bits(kept.all_gradients(), cast.all_gradients())) << "scan " << scan;
      const auto dry = dry_walk(kept.run(), 0);
      EXPECT_EQ(kept.ledger().peaks().weights_bytes, dry.peak.weights_bytes);
      EXPECT_EQ(kept.ledger().peaks().total_bytes, dry.peak.total_bytes);
      EXPECT_EQ(kept.arena_bytes(), dry.arena_bytes);
    }
  }
}

void expect_planned_memory_of(const spec::RunSpec& run) {
  TrainingRun real(run);
  real.all_steps();
  const auto dry = dry_walk(real.run(), 0);
  const auto what = run.model.name + " " + run.remat + " " + std::string(spec::enum_name(run.precision));
  expect_planned_memory(real, dry, what);
  EXPECT_EQ(real.flops().model_flops(), run.steps * dry.flops.model_flops()) << what;
}

TEST_F(Training, DryMemoryIsTheRealLedgerByteForByte) {
  for (auto run : families()) {
    run.steps = 1;
    run.grad_accum = 2;
    run.loss_chunk_tokens = 24;  // does not divide the 64 tokens of a microbatch, nor 32
    for (const char* policy : {"none", "full", "minimal_flash", "qkv_proj_offloaded"}) {
      run.remat = policy;
      for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
        run.attention = kind;
        const bool by_bf16 = is_slow() && (run.remat != "none" || kind == spec::AttentionKind::dot_product);
        for (const auto precision : kPrecisions) {
          if (by_bf16 && precision != spec::Precision::bf16) continue;
          run.precision = precision;
          expect_planned_memory_of(run);
        }
      }
    }
  }
}

TEST_F(Training, FlashFollowsDotProduct) {
  for (auto run : dense_families()) {
    run.steps = 1;
    run.attention = spec::AttentionKind::dot_product;
    TrainingRun dot(run);
    run.attention = spec::AttentionKind::flash;
    TrainingRun flash(run);
    const auto a = dot.step();
    const auto b = flash.step();
    EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * std::abs(a.loss));
    EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
  }
}

TEST_F(Training, JoinedProductsFollowSeparateOnes) {
  for (auto run : families()) {
    run.steps = 1;
    TrainingRun joined(run);
    run.fused_qkv = run.fused_mlp = false;
    TrainingRun apart(run);
    const auto a = apart.step();
    const auto b = joined.step();
    EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * std::abs(a.loss));
    EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
  }
}

TEST_F(Training, ChunksOfTheLossDoNotChangeIt) {
  for (auto run : dense_families()) {
    run.steps = 1;
    TrainingRun whole(run);
    run.loss_chunk_tokens = 20;
    TrainingRun chunked(run);
    const auto a = whole.step();
    const auto b = chunked.step();
    EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * std::abs(a.loss));
    EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
  }
}

TEST_F(Training, AccumulatedMicrobatchesAreTheWholeBatch) {
  for (auto run : families()) {
    run.steps = 1;
    TrainingRun whole(run);
    run.grad_accum = 4;
    TrainingRun parts(run);
    const auto a = whole.step();
    const auto b = parts.step();
    EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * std::abs(a.loss));
    EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
  }
}

// bf16 rounds each stored value to 8 bits: relative error 2^-9 each. About ten roundings lie between the embedding and
// the logits in each layer, for three layers; they add up as a random walk.
TEST_F(Training, Bf16StaysNearFp32) {
  for (auto run : dense_families()) {
    run.steps = 1;
    TrainingRun fp32(run);
    run.precision = spec::Precision::bf16;
    TrainingRun bf16(run);
    const auto a = fp32.step();
    const auto b = bf16.step();
    EXPECT_NE(b.loss, a.loss);
    EXPECT_NEAR(b.loss, a.loss, std::sqrt(30.0) * 0x1p-9 * a.loss * 4);
    EXPECT_NEAR(b.grad_norm, a.grad_norm, std::sqrt(60.0) * 0x1p-9 * a.grad_norm * 4);
  }
}

TEST_F(Training, PhasesSumToTheWallTime) {
  TrainingRun training(gpt_tiny());
  const auto r = training.step();
  EXPECT_EQ(r.data_ns + r.forward_ns + r.backward_ns + r.exposed_comm_ns + r.bubble_ns + r.optimizer_ns + r.other_ns,
            r.wall_ns);
  EXPECT_GT(r.forward_ns, 0);
  EXPECT_GT(r.backward_ns, 0);
}

TEST_F(Training, LossFallsWhenOneBatchIsRepeated) {
  for (auto run : dense_families()) {
    if (is_slow() && run.model.name != llama_tiny().model.name) continue;
    run.model.init_std = 0.02;
    run.steps = 30;
    run.optimizer.learning_rate = 3e-3;
    TrainingRun training(run);
    const double first = training.trainer().step(0).loss;
    double last = first;
    for (int i = 0; i < 30; ++i) last = training.trainer().step(0).loss;
    EXPECT_NEAR(first, std::log(static_cast<double>(run.model.vocab_size)), 0.1);
    EXPECT_LT(last, first - 0.5);
  }
}

}  // namespace
}  // namespace perfbench::engine
