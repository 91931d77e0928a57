// Training in precision fp8, on the cpu backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "engine/core/float8.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/fp8_ops.h"
#include "tests/engine/training.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::engine {
namespace {

spec::RunSpec fp8(spec::RunSpec run, spec::Fp8Scaling scaling = spec::Fp8Scaling::delayed) {
  run.precision = spec::Precision::fp8;
  run.fp8_scaling = scaling;
  return run;
}

constexpr spec::Fp8Scaling kScalings[] = {spec::Fp8Scaling::delayed, spec::Fp8Scaling::current};

// Relative errors of rounding to nearest with s bits of significand are uniform up to 2^-s, with a root mean square of
// at most 2^-s / sqrt(3): s = 4 in e4m3. A sum of k products has the relative error of one product, whatever k is,
// because the errors of the terms are as independent as the terms. From the embedding to the logits there are four
// products in each of three layers, with two rounded operands each, whose errors add up as a random walk. So the
// relative error of the last norm's output is at most sqrt(24) 2^-4 / sqrt(3), ignoring the rest of the residual
// stream. A logit is the sum of d_model of these times weights of init_std, so it errs by d = init_std sqrt(d_model)
// times that; a token's loss by sqrt(2) d (its target's logit and the mean of the others), and by the variance d^2 / 2
// of the logits in the log of a sum of exponentials. Over N tokens the first part averages out to sqrt(2) d / sqrt(N),
// of which four times is allowed; roundings to bf16 are 16 times smaller.
double loss_band(const spec::RunSpec& run, int significand_bits) {
  const double relative = std::sqrt(24.0) * std::ldexp(1.0, -significand_bits) / std::sqrt(3.0);
  const double logit = run.model.init_std * std::sqrt(static_cast<double>(run.model.d_model)) * relative;
  const auto tokens = static_cast<double>(run.global_batch * run.seq_len);
  return 4 * std::sqrt(2.0) * logit / std::sqrt(tokens) + logit * logit / 2;
}

// A step's weights carry the effect of the gradients' errors in earlier updates: the same amount again for each.
TEST(Fp8, LossesStayNearThoseOfFp32) {
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny()}) {
    run.steps = 5;
    const auto fp32 = TrainingRun(run).all_steps();
    auto in_bf16 = run;
    in_bf16.precision = spec::Precision::bf16;
    const auto bf16 = TrainingRun(in_bf16).all_steps();
    for (const auto scaling : kScalings) {
      const auto steps = TrainingRun(fp8(run, scaling)).all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto times = static_cast<double>(i + 1);
        EXPECT_NEAR(steps[i].loss, fp32[i].loss, times * loss_band(run, 4)) << run.model.name << " step " << i;
        EXPECT_NEAR(bf16[i].loss, fp32[i].loss, times * loss_band(run, 8)) << run.model.name << " step " << i;
        EXPECT_NE(steps[i].loss, bf16[i].loss);
      }
    }
  }
}

TEST(Fp8, LossFallsWhenOneBatchIsRepeated) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.model.init_std = 0.02;
    run.steps = 30;
    run.optimizer.learning_rate = 3e-3;
    for (const auto scaling : kScalings) {
      TrainingRun training(fp8(run, scaling));
      const double first = training.trainer().step(0).loss;
      double last = first;
      for (int i = 0; i < 30; ++i) last = training.trainer().step(0).loss;
      EXPECT_LT(last, first - 0.5) << run.model.name;
    }
  }
}

// In each layer there are four products forward, four more that a policy computes twice, and eight backward: inputs and
// weights in e4m3, gradients in e5m2. Nothing else reads 8 bits.
TEST(Fp8, EveryProductOfALinearLayerReadsRoundedOperands) {
  for (auto run : {gpt_tiny(), llama_tiny(), lora_tiny()}) {
    for (const auto scaling : kScalings) {
      run = fp8(run, scaling);
      LoggedFp8Run training(run);
      for (int step = 0; step < 2; ++step) {
        std::map<std::tuple<DType, DType>, std::int64_t> found;
        for (const auto& product : training.step().products) {
          const bool block = product.part == FlopPart::attention_projection || product.part == FlopPart::feed_forward;
          const bool eight_bits = is_float8(product.a) && is_float8(product.b);
          EXPECT_EQ(product.reads_what_was_rounded, eight_bits);
          if (eight_bits) {
            EXPECT_TRUE(block);
            ++found[{product.a, product.b}];
          } else {
            EXPECT_TRUE(!block || run.lora.used());
          }
        }
        const std::int64_t layers = run.model.layers;
        // Frozen weights have no gradient; below the lowest layer's adapters of attention, no gradient is needed.
        const std::int64_t backward = run.lora.used() ? 4 * layers - 1 : 8 * layers;
        const std::map<std::tuple<DType, DType>, std::int64_t> want{{{DType::e4m3, DType::e4m3}, 4 * layers},
                                                                    {{DType::e5m2, DType::e4m3}, backward}};
        EXPECT_EQ(found, want) << run.model.name;
      }
    }
  }
}

TEST(Fp8, ExpertsAndTheirRouterReadBf16) {
  auto run = fp8(glam_tiny());  // experts in every second layer
  run.model.layers = 4;
  LoggedFp8Run training(run);
  const auto& products = training.step().products;
  const auto eight_bits =
      std::count_if(products.begin(), products.end(), [](const auto& product) { return is_float8(product.a); });
  EXPECT_EQ(eight_bits, 3 * (4 * 2 + 2 * 2));
}

// Scales follow from the magnitudes that the operation was given, recomputed here: 1 in the first step, then the
// format's largest number over the largest of the last two steps. All microbatches of a step round with one scale.
TEST(Fp8, DelayedScalesComeFromPreviousSteps) {
  auto run = fp8(llama_tiny());
  run.grad_accum = 2;
  run.fp8_amax_history = 2;
  LoggedFp8Run training(run);
  std::vector<std::map<const void*, double>> amaxes;
  for (std::size_t step = 0; step < 4; ++step) {
    const auto& log = training.step();
    EXPECT_EQ(log.scales.size(), static_cast<std::size_t>(run.model.layers) * 4 * 3);
    for (const auto& [state, scale] : log.scales) {
      double most = 0;
      for (std::size_t before = step < 2 ? 0 : step - 2; before < step; ++before) {
        most = std::max(most, amaxes[before].at(state));
      }
      const bool e4m3 = scale == float8_scale(kE4m3, static_cast<float>(most));
      EXPECT_TRUE(e4m3 || scale == float8_scale(kE5m2, static_cast<float>(most))) << scale << " of " << most;
      if (step == 0) {
        EXPECT_EQ(scale, 1.0F);
      }
    }
    amaxes.push_back(log.amaxes);
  }
}

TEST(Fp8, CurrentScalesFollowTheTensorAndNoHistory) {
  LoggedFp8Run training(fp8(gpt_tiny(), spec::Fp8Scaling::current));
  const auto& log = training.step();
  EXPECT_TRUE(log.updated_scales.empty());
  for (const auto& [state, scale] : log.scales) EXPECT_NE(scale, 1.0F);
}

// Custom places separate the products (train_equality_test.cpp tests delayed scales); all products of one input share a
// scale, however many of them are recomputed.
TEST(Fp8, EveryPolicyGivesTheBitsOfNoneWithCurrentScalesToo) {
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), dropped(llama_tiny())}) {
    run = fp8(run, spec::Fp8Scaling::current);
    run.steps = 2;
    for (const bool fused : {true, false}) {
      run.fused_qkv = run.fused_mlp = fused;
      run.remat = "none";
      run.remat_custom = {};
      TrainingRun none(run);
      const auto expected = none.all_steps();
      for (const auto& policy : spec::remat_policy_names()) {
        run.remat = policy;
        run.remat_custom = {};
        if (policy == spec::kCustomRemat && fused) continue;
        if (policy == spec::kCustomRemat) {
          run.remat_custom = {{"key_proj", spec::SavePlace::device}, {"mlpwi_1", spec::SavePlace::offload}};
        }
        TrainingRun with(run);
        const auto steps = with.all_steps();
        for (std::size_t i = 0; i < steps.size(); ++i) {
          EXPECT_EQ(steps[i].loss, expected[i].loss) << run.model.name << ' ' << policy;
          EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << run.model.name << ' ' << policy;
        }
        EXPECT_TRUE(same_bits(with.all_gradients(), none.all_gradients())) << run.model.name << ' ' << policy;
      }
    }
  }
}

// f32 amax, scale and inverse scale of three operands of four groups of products a layer, and 16 more of each amax.
TEST(Fp8, StatesAreInTheLedger) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  const auto bf16 = dry_walk(run, 0).peak.optimizer_bytes;
  const auto up = [](std::int64_t floats) { return (floats * 4 + 255) / 256 * 256; };
  const std::int64_t linears = 4 * run.model.layers;
  const std::int64_t states = 2 * up(3 * linears) + up(3 * 4 * linears);  // inverse scales are 16 bytes apart
  EXPECT_EQ(dry_walk(fp8(run, spec::Fp8Scaling::current), 0).peak.optimizer_bytes - bf16, states);
  EXPECT_EQ(dry_walk(fp8(run), 0).peak.optimizer_bytes - bf16, states + up(16 * 2 * linears) + up(16 * linears));
}

}  // namespace
}  // namespace perfbench::engine
