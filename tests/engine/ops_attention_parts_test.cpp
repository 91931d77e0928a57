// How the backward pass of a library's attention is divided into parts, and the workspace planned for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ops/attention_parts.h"
#include "engine/ops/workspace.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

using testing::HasSubstr;

// Fuji 1B of matrices/gpu.yaml, with a microbatch of 4.
const AttentionDims kGrouped{.batch = 4, .seq_len = 2048, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64};

// Small limits, so that the shapes of these tests are divided.
const AttentionPartLimits kSmallParts{.rows = 65536};

AttentionSplit same_bits(const AttentionDims& dims) {
  return split_attention_backward(dims, Summation::same_bits, kSmallParts);
}

// Each head of each sequence is in one part, and a part is whole sequences or heads of one sequence.
void expect_cover(const AttentionDims& d, const AttentionSplit& split) {
  ASSERT_EQ(split.refusal, "");
  std::vector<int> times(static_cast<std::size_t>(d.batch * d.n_kv_heads));
  for (const auto& part : parts_of(d, split)) {
    EXPECT_GT(part.sequences, 0);
    EXPECT_GT(part.kv_heads, 0);
    EXPECT_TRUE(part.sequences == 1 || part.kv_heads == d.n_kv_heads);
    EXPECT_LE(part.sequences, split.sequences);
    EXPECT_LE(part.kv_heads, split.kv_heads);
    for (auto s = part.first_sequence; s < part.first_sequence + part.sequences; ++s) {
      for (auto h = part.first_kv_head; h < part.first_kv_head + part.kv_heads; ++h) {
        ++times.at(static_cast<std::size_t>(s * d.n_kv_heads + h));
      }
    }
  }
  EXPECT_THAT(times, testing::Each(1));
}

TEST(AttentionParts, AreOneIfAllFits) {
  auto d = kGrouped;
  d.batch = 1;  // 65536 rows
  EXPECT_EQ(parts_of(d, same_bits(d)), (std::vector<AttentionPart>{{0, 1, 0, 8}}));
  d = {.batch = 2, .seq_len = 200, .n_heads = 4, .n_kv_heads = 2, .head_dim = 64};
  EXPECT_EQ(parts_of(d, same_bits(d)), (std::vector<AttentionPart>{{0, 2, 0, 2}}));
}

TEST(AttentionParts, AreWholeSequencesWhileOneFits) {
  EXPECT_EQ(same_bits(kGrouped).sequences, 1);
  auto d = kGrouped;
  d.seq_len = 512;  // 16384 rows a sequence: four sequences a part, and the rest
  d.batch = 11;
  EXPECT_EQ(parts_of(d, same_bits(d)), (std::vector<AttentionPart>{{0, 4, 0, 8}, {4, 4, 0, 8}, {8, 3, 0, 8}}));
  d.n_heads = d.n_kv_heads = 31;  // 15872 rows: four are below 65536, five above
  EXPECT_EQ(same_bits(d).sequences, 4);
  expect_cover(d, same_bits(d));
}

TEST(AttentionParts, AreKeyValueHeadsOfOneSequenceIfNoSequenceFits) {
  auto d = kGrouped;
  d.seq_len = 4096;  // a key/value head has 4 query heads: 16384 rows
  d.batch = 2;
  EXPECT_EQ(parts_of(d, same_bits(d)),
            (std::vector<AttentionPart>{{0, 1, 0, 4}, {0, 1, 4, 4}, {1, 1, 0, 4}, {1, 1, 4, 4}}));
  d.n_heads = d.n_kv_heads = 25;  // 4096 rows: sixteen heads, and nine
  EXPECT_EQ(parts_of(d, same_bits(d)),
            (std::vector<AttentionPart>{{0, 1, 0, 16}, {0, 1, 16, 9}, {1, 1, 0, 16}, {1, 1, 16, 9}}));
  d.n_heads = 64;
  d.n_kv_heads = 2;  // 131072 rows: more than the limit, but never less than a head
  EXPECT_EQ(same_bits(d).kv_heads, 1);
  expect_cover(d, same_bits(d));
}

TEST(AttentionParts, CoverEveryHeadOnce) {
  for (const std::int64_t batch : {1, 2, 3, 7, 64}) {
    for (const std::int64_t seq_len : {4, 128, 1000, 2048, 4096, 8192}) {
      for (const auto& [heads, kv_heads] : {std::pair{1, 1}, {12, 12}, {24, 8}, {16, 1}, {25, 5}}) {
        const AttentionDims d{batch, seq_len, heads, kv_heads, 64};
        for (const auto& limits : {kSmallParts, AttentionPartLimits{}}) {
          SCOPED_TRACE(testing::Message() << "B" << batch << " T" << seq_len << " H" << heads << " K" << kv_heads);
          expect_cover(d, split_attention_backward(d, Summation::same_bits, limits));
          expect_cover(d, split_attention_backward(d, Summation::any_order, limits));
        }
      }
    }
  }
}

// The gradient of the scores, 2*T*T bytes for each query head, dominates: half the rows of a part fill half of 4 GiB.
TEST(AttentionParts, HaveFewerRowsIfTheirWorkspaceWouldExceedTheLimit) {
  const AttentionDims d{.batch = 1, .seq_len = 32768, .n_heads = 8, .n_kv_heads = 8, .head_dim = 128};
  const auto split = same_bits(d);
  EXPECT_EQ(split.kv_heads, 1) << "two heads are 65536 rows, and more than 4 GiB";
  EXPECT_LE(split.workspace_bytes, kSmallParts.bytes);
  expect_cover(d, split);
}

TEST(AttentionParts, AreRefusedIfOneKeyValueHeadExceedsTheLimit) {
  AttentionDims d{.batch = 1, .seq_len = 16384, .n_heads = 32, .n_kv_heads = 4, .head_dim = 128};
  const auto split = same_bits(d);  // 8 heads * (2 * 16384^2 + 16384 * 4 * (2 + 3 * 128)) bytes + 16 MiB
  EXPECT_THAT(split.refusal, testing::AllOf(HasSubstr("needs " + std::to_string(8LL * 562167808 + (16 << 20))),
                                            HasSubstr("more than 4294967296")));
  EXPECT_EQ(split.workspace_bytes, 0);
  d.n_kv_heads = 32;
  EXPECT_EQ(same_bits(d).refusal, "");
  EXPECT_EQ(same_bits(d).kv_heads, 4);
  d.n_kv_heads = 4;
  const auto any_order = split_attention_backward(d, Summation::any_order);
  EXPECT_EQ(any_order.refusal, "") << "holds no scores";
  EXPECT_EQ(any_order.kv_heads, 4);
}

// cuDNN requires addresses that are multiples of 16 bytes.
TEST(AttentionParts, BeginWhereCudnnTakesAnAddress) {
  AttentionDims d{.batch = 100, .seq_len = 1001, .n_heads = 3, .n_kv_heads = 3, .head_dim = 64};
  EXPECT_THAT(same_bits(d).refusal, HasSubstr("it is 1001"));
  d.batch = 1;
  EXPECT_EQ(same_bits(d).refusal, "") << "all at once begins where the tensors do";
  d.batch = 100;
  d.seq_len = 1004;
  EXPECT_EQ(same_bits(d).refusal, "");
}

TEST(AttentionParts, NeedWorkspaceThatNeverShrinksWithTheBatchAndStopsGrowing) {
  for (const auto summation : {Summation::same_bits, Summation::any_order}) {
    auto d = kGrouped;
    d.seq_len = 512;
    std::int64_t last = 0;
    for (d.batch = 1; d.batch <= 4096; d.batch *= 2) {
      const auto bytes = split_attention_backward(d, summation, kSmallParts).workspace_bytes;
      EXPECT_GE(bytes, last);
      EXPECT_LE(bytes, kSmallParts.bytes);
      last = bytes;
    }
    const bool same = summation == Summation::same_bits;
    d.batch = 4;
    const auto four = split_attention_backward(d, summation, kSmallParts).workspace_bytes;
    d.batch = 64;
    EXPECT_EQ(split_attention_backward(d, summation, kSmallParts).workspace_bytes == four, same)
        << "65536 rows are four sequences";
  }
}

// The memory of the front end's graph and of the kernel (attention_parts.cpp), computed from the problem's own numbers.
TEST(AttentionParts, HaveRoomForWhatCudnnHolds) {
  const std::int64_t rows = kSmallParts.rows;
  const auto deterministic = same_bits(kGrouped).workspace_bytes;
  EXPECT_EQ(deterministic, rows * (2 * 4 + 3 * 64 * 4 + 2 * 2048) + (16 << 20));
  const auto any_order = split_attention_backward(kGrouped, Summation::any_order).workspace_bytes;
  EXPECT_EQ(any_order, 4 * rows * (2 * 4 + 3 * 64 * 4) + (16 << 20));
  auto odd = kGrouped;
  odd.seq_len = 2044;  // rounded up to whole tiles
  EXPECT_EQ(same_bits(odd).workspace_bytes, deterministic);
}

// Measured: with a quarter of the rows, the step of this shape takes longer.
TEST(AttentionParts, AMicrobatchOfFourSequencesOfA1BModelIsOnePart) {
  EXPECT_EQ(parts_of(kGrouped, split_attention_backward(kGrouped, Summation::same_bits)),
            (std::vector<AttentionPart>{{0, 4, 0, 8}}));
}

spec::RunSpec cuda_run() {
  spec::RunSpec run;
  run.device = spec::Device::cuda;
  run.precision = spec::Precision::bf16;
  run.model.d_model = 2048;
  run.model.d_ff = 5632;
  run.model.n_heads = kGrouped.n_heads;
  run.model.n_kv_heads = kGrouped.n_kv_heads;
  run.model.head_dim = kGrouped.head_dim;
  run.seq_len = kGrouped.seq_len;
  run.global_batch = 32;
  run.grad_accum = 8;
  return run;
}

TEST(Workspace, HoldsOnePartOfTheAttention) {
  auto run = cuda_run();
  EXPECT_EQ(workspace::bytes(run), split_attention_backward(kGrouped, Summation::same_bits).workspace_bytes);
  run.deterministic = false;
  EXPECT_EQ(workspace::bytes(run), split_attention_backward(kGrouped, Summation::any_order).workspace_bytes);
}

// 4 sequences of 32 heads of 2048 tokens: delta, and sums by distance for 32 tiles of 64 queries. f32 heads above 128
// have tiles of 32 queries.
TEST(Workspace, HoldsTheSumsByDistanceOfARelativeBias) {
  auto run = cuda_run();
  run.model.position.kind = spec::PositionKind::t5_relative_bias;
  EXPECT_EQ(workspace::bytes(run), 4LL * 4 * 32 * 2048 * (1 + 32));
  run.precision = spec::Precision::fp32;
  EXPECT_EQ(workspace::bytes(run), 4LL * 4 * 32 * 2048 * (1 + 32));
  run.model.head_dim = 136;
  EXPECT_EQ(workspace::bytes(run), 4LL * 4 * 32 * 2048 * (1 + 64));
}

TEST(AttentionOfARank, HasTheModelsScoreFactorOrTheRootOfItsHeads) {
  auto run = cuda_run();
  EXPECT_EQ(attention_of_rank(run).score_factor, 0.125F);
  run.model.attention_scale = 1.0;
  EXPECT_EQ(attention_of_rank(run).score_factor, 1.0F);
}

// If no library computes the attention, the plan is for our own kernels: delta, or scores that fit beside the products.
TEST(Workspace, HoldsNoLibraryAttentionForRunsWithoutIt) {
  auto run = cuda_run();
  run.seq_len = 131072;
  run.model.n_kv_heads = 1;
  const AttentionDims d{4, 131072, 32, 1, 64};
  ASSERT_NE(same_bits(d).refusal, "");
  EXPECT_EQ(workspace::bytes(run), workspace::library_forward_bytes(d));
  run.precision = spec::Precision::fp32;
  EXPECT_EQ(workspace::bytes(run), 4LL * 4 * 32 * 131072) << "delta";
  run.attention = spec::AttentionKind::dot_product;
  EXPECT_LT(workspace::bytes(run), 4LL * 4 * 32 * 131072);
  EXPECT_GE(workspace::bytes(run), workspace::dot_product_bytes(d));
}

}  // namespace
}  // namespace perfbench::engine
