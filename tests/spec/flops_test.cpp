#include "workloads/spec/flops.h"

#include <gtest/gtest.h>

namespace perfbench::spec {
namespace {

// 1 layer, d 4, 2 heads of 3, SwiGLU 5, vocabulary 7: attention 4 x (4 x 6) = 96, feed-forward 3 x 20 = 60,
// unembedding 28: Nm = 184; the embedding 28 and three norms of 4 make N = 224. L*h*e*T = 1 x 2 x 3 x 10 = 60.
ModelSpec hand_model() {
  ModelSpec model;
  model.name = "hand";
  model.layers = 1;
  model.d_model = 4;
  model.n_heads = model.n_kv_heads = 2;
  model.head_dim = 3;
  model.d_ff = 5;
  model.vocab_size = 7;
  model.max_seq_len = 10;
  return model;
}

TEST(FlopsPerToken, FollowsEachDefinition) {
  EXPECT_EQ(flops_per_token(FlopDefinition::causal, hand_model(), 10), 6 * 184 + 6 * 60);
  EXPECT_EQ(flops_per_token(FlopDefinition::palm, hand_model(), 10), 6 * 184 + 12 * 60);
  EXPECT_EQ(flops_per_token(FlopDefinition::six_n_total, hand_model(), 10), 6 * 224);
  EXPECT_EQ(flops_per_token(FlopDefinition::llm_foundry, hand_model(), 10), 6 * 224 + 12 * 1 * 4 * 10);
}

// llm-foundry builds its model for the measured length: 13 more tokens are 13 more rows of 4.
TEST(FlopsPerToken, LlmFoundryCountsAPositionTableOfTheSequencesLength) {
  auto model = hand_model();
  model.position.kind = PositionKind::learned;
  const auto at = [&](std::int64_t seq_len) { return flops_per_token(FlopDefinition::llm_foundry, model, seq_len); };
  EXPECT_EQ(at(23) - at(10), 13 * (6 * 4 + 12 * 1 * 4));
  EXPECT_EQ(at(10), 6 * (224 + 40) + 12 * 1 * 4 * 10);
}

// Rank 2 in four linear layers of attention, 4 and 6 wide, and three of the feed-forward block, 4 and 5 wide: 4 * 20 +
// 3 * 18 = 134 elements, which count 6 each; the model's own weights count 4.
TEST(FlopsPerToken, AreSixForAdaptersAndFourForFrozenWeights) {
  LoraSpec lora{.rank = 2};
  const auto of = [&](FlopDefinition definition) { return flops_per_token(definition, hand_model(), 10, lora); };
  EXPECT_EQ(of(FlopDefinition::causal), 4 * 184 + 6 * 134 + 6 * 60);
  EXPECT_EQ(of(FlopDefinition::palm), 4 * 184 + 6 * 134 + 12 * 60);
  EXPECT_EQ(of(FlopDefinition::six_n_total), 4 * 224 + 6 * 134);
  EXPECT_EQ(of(FlopDefinition::llm_foundry), 4 * 224 + 6 * 134 + 12 * 1 * 4 * 10);
  lora.targets = LoraTargets::attention;
  EXPECT_EQ(of(FlopDefinition::causal), 4 * 184 + 6 * 80 + 6 * 60);
  lora.targets = LoraTargets::mlp;
  EXPECT_EQ(of(FlopDefinition::causal), 4 * 184 + 6 * 54 + 6 * 60);
}

// LLaMA-2 7B with rank 32 everywhere, for which Pax prints 63.2 sequences of 4096 tokens a second on 16 H100: 4 * Nm +
// 6 * 79953920 + 6*L*h*e*T give 49.29 % of 989 TFLOP/s.
TEST(FlopsPerToken, GiveTheFigureOfPaxsRowForItsAdapters) {
  auto model = hand_model();
  model.layers = 32;
  model.d_model = 4096;
  model.n_heads = model.n_kv_heads = 32;
  model.head_dim = 128;
  model.d_ff = 11008;
  model.vocab_size = 32000;
  const double flops = flops_per_token(FlopDefinition::causal, model, 4096, {.rank = 32});
  EXPECT_NEAR(utilisation(63.2 * 4096 / 16, flops, 989e12), 0.4929, 0.00005);
}

TEST(FlopsPerToken, OnlyAttentionGrowsWithTheSequence) {
  const auto at = [](FlopDefinition definition, std::int64_t seq_len) {
    return flops_per_token(definition, hand_model(), seq_len);
  };
  EXPECT_EQ(at(FlopDefinition::palm, 20) - at(FlopDefinition::palm, 10), 12 * 60);
  EXPECT_EQ(at(FlopDefinition::six_n_total, 20), at(FlopDefinition::six_n_total, 10));
}

// The largest values that the fields allow: 12 x 1e4 x 1e5 x 1e5 x 1e8 is 1.2e23, beyond 64 bits.
TEST(FlopsPerToken, DoesNotOverflow) {
  auto model = hand_model();
  model.layers = 10'000;
  model.n_heads = model.n_kv_heads = 100'000;
  model.head_dim = 100'000;
  EXPECT_NEAR(flops_per_token(FlopDefinition::palm, model, 100'000'000) / 1.2e23, 1.0, 1e-6);
}

// PaLM (arXiv:2204.02311): 540B on 6144 TPU v4 at 238.3 thousand tokens/s states an MFU of 45.7 % without attention and
// 46.2 % with it.
TEST(Utilisation, ReproducesThePublishedFigureOfPaLM) {
  const double parameters = 540.35e9;
  const double tokens_per_s_per_device = 238.3e3 / 6144;
  EXPECT_NEAR(utilisation(tokens_per_s_per_device, 6 * parameters, 275e12), 0.457, 0.0005);
  const double attention = 12.0 * 118 * 48 * 256 * 2048;
  EXPECT_NEAR(utilisation(tokens_per_s_per_device, 6 * parameters + attention, 275e12), 0.462, 0.0005);
}

}  // namespace
}  // namespace perfbench::spec
