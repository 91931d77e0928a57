// The cost of training adapters, compared with numbers computed by hand. In lora_tiny, with rank 4 in three layers of
// width 32, 4 heads and 2 key/value heads of 16 and a hidden width of 80, a layer's adapters have
//   a: query, key, value, gate, up 5 x 4*32, out 4*64, down 4*80 = 1216
//   b: query 64*4, key, value 2 x 32*4, out, down 2 x 32*4, gate, up 2 x 80*4 = 1408
// elements, all in multiples of 16; 2624 f32 are 41 blocks of 256 bytes.
#include <gtest/gtest.h>

#include <map>

#include "engine/sharding/unit.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/unit_layouts.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kLayers = 3;
constexpr std::int64_t kA = 1216;
constexpr std::int64_t kAdapters = 1216 + 1408;

spec::RunSpec whole_model(spec::RunSpec run) {
  run.task = spec::Task::pretrain;
  run.lora = {};
  return run;
}

std::int64_t in_blocks(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

TEST(LoraCosts, GradientsAndMomentsAreThoseOfTheAdapters) {
  for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
    auto run = lora_tiny();
    run.precision = precision;
    const auto peak = dry_walk(run, 0).peak;
    EXPECT_EQ(peak.gradients_bytes, kLayers * kAdapters * 4);
    EXPECT_EQ(peak.optimizer_bytes, 2 * kLayers * kAdapters * 4);
    EXPECT_LT(5 * peak.optimizer_bytes, dry_walk(whole_model(run), 0).peak.optimizer_bytes);
  }
}

// Frozen weights are kept in the type of products, so they need no cast; adapters do.
TEST(LoraCosts, FrozenWeightsAreKeptInTheTypeOfProducts) {
  auto run = lora_tiny();
  const std::int64_t rope = in_blocks(run.seq_len * run.model.head_dim * 4);
  for (const std::int64_t fsdp : {1, 4}) {
    run.mesh.ici.fsdp = fsdp;
    for (const auto& [precision, bytes] : {std::pair{spec::Precision::fp32, 4}, std::pair{spec::Precision::bf16, 2}}) {
      run.precision = precision;
      std::int64_t frozen = 0;
      for (const auto& unit : unit_layouts(run.model, Mesh(run.mesh, 0)))
        frozen += in_blocks(bytes * unit.shard_elements);
      const std::int64_t adapters = kLayers * in_blocks(kAdapters * 4 / fsdp);
      EXPECT_EQ(dry_walk(run, 0).peak.weights_bytes, frozen + adapters + rope) << fsdp << " " << bytes;
      std::map<spec::TraceOp, std::int64_t> calls;
      for (const auto& work : count_operations(run, 0).operations) calls[work.operation] = work.calls;
      EXPECT_EQ(calls[spec::TraceOp::cast], bytes == 4 ? 0 : 2 * kLayers - (fsdp > 1 ? 1 : 0));
    }
  }
}

// The products for a token that layer 0 does not compute: the gradients of the normalised input from query, key and
// value and their adapters; or, if only up and down have adapters, the whole backward pass of attention and the
// gradient of up's input.
std::int64_t unread_of_lora_tiny() {
  return 2 * (32 * (64 + 32 + 32) + 3 * 4 * 32);
}
std::int64_t unread_of_lora_mlp_tiny(std::int64_t seq_len) {
  return 2 * (4 * 32 * 32) + 4 * 4 * 8 * seq_len + 2 * (32 * 128 + 5 * 32);
}

TEST(LoraCosts, FlopsAreTheDefinitionLessUnreadGradients) {
  for (auto run : {lora_tiny(), lora_mlp_tiny()}) {
    const auto& m = run.model;
    // gpt_tiny's up and down are 32 x 128: rank 5 on both sides of each.
    const std::int64_t adapters = m.bias == spec::BiasKind::all ? kLayers * 2 * 5 * (32 + 128) : kLayers * kAdapters;
    const std::int64_t tokens = run.global_batch * run.seq_len;
    const std::int64_t per_token =
        4 * spec::count_parameters(m).matmul_active + 6 * adapters +
        6 * m.layers * m.n_heads * m.head_dim * run.seq_len -
        (m.bias == spec::BiasKind::all ? unread_of_lora_mlp_tiny(run.seq_len) : unread_of_lora_tiny());
    for (const std::int64_t accumulate : {1, 2}) {
      run.grad_accum = accumulate;
      EXPECT_EQ(dry_walk(run, 0).flops.model_flops(), tokens * per_token);
    }
    run.mesh.ici.fsdp = 4;
    EXPECT_EQ(dry_walk(run, 3).flops.model_flops(), tokens * per_token / 4);
  }
}

// The adapters' products with their inputs are recomputed for the backward pass.
TEST(LoraCosts, InnerValuesAreComputedTwice) {
  const auto run = lora_tiny();
  EXPECT_EQ(dry_walk(run, 0).flops.rematerialised_flops, 2 * run.global_batch * run.seq_len * kLayers * kA);
}

// A layer's seven linear layers are four products, each with a gradient of its input, and seven adapters with theirs,
// except query, key and value of layer 0, which have no gradient of the input; three chunks of logits have two products
// each.
TEST(LoraCosts, GradientsOfFrozenWeightsAreNotComputed) {
  auto run = lora_tiny();
  run.grad_accum = 2;
  run.loss_chunk_tokens = 24;
  std::map<spec::TraceOp, spec::OperationWork> operations;
  for (const auto& work : count_operations(run, 0).operations) operations[work.operation] = work;
  EXPECT_EQ(operations.at(spec::TraceOp::matmul).calls, 2 * (kLayers * (4 * 2 + 7 * 7) - (1 + 3) + 3 * 2));
  EXPECT_EQ(operations.at(spec::TraceOp::adamw).bytes, 28 * kLayers * kAdapters + 4 * 8);
  EXPECT_EQ(operations.at(spec::TraceOp::sum_of_squares).bytes, 4 * kLayers * kAdapters + 8);
  EXPECT_FALSE(operations.contains(spec::TraceOp::embedding_backward));
  // x, its gradient twice, dy, statistics and the weight; no f32 gradient of the weight. Nothing for layer 0's
  // attention norm.
  const std::int64_t rows = run.microbatch() * run.seq_len;
  EXPECT_EQ(operations.at(spec::TraceOp::norm_backward).bytes,
            2 * (2 * kLayers * (3 * rows * 32 + rows + 32) + (2 * kLayers - 1) * rows * 32) * 4);
  auto biased = lora_mlp_tiny();
  auto relative = t5_tiny();
  relative.task = spec::Task::lora;
  relative.lora.rank = 1;
  for (const auto& other : {biased, relative}) {
    for (const auto& work : count_operations(other, 0).operations) {
      EXPECT_NE(work.operation, spec::TraceOp::bias_backward);
      EXPECT_NE(work.operation, spec::TraceOp::relative_bias_backward);
      EXPECT_NE(work.operation, spec::TraceOp::embedding_backward);
    }
  }
}

// The backward pass ends with the lowest adapter: if attention has none, before attention.
TEST(LoraCosts, TheBackwardPassEndsWithTheLowestAdapter) {
  const auto calls = [](const spec::RunSpec& run, spec::TraceOp operation) {
    for (const auto& work : count_operations(run, 0).operations) {
      if (work.operation == operation) return work.calls;
    }
    return std::int64_t{0};
  };
  using enum spec::TraceOp;
  for (auto run : {lora_tiny(), lora_mlp_tiny()}) {
    const std::int64_t below_feed_forward = run.lora.targets == spec::LoraTargets::mlp ? 1 : 0;
    EXPECT_EQ(calls(run, attention_backward), kLayers - below_feed_forward);
    EXPECT_EQ(calls(run, norm_backward), 2 * kLayers - below_feed_forward);
    // If its output is kept and its projections are not, attention is recomputed only for its own backward pass.
    run.remat = "save_out_proj";
    EXPECT_EQ(calls(run, attention_forward), 2 * kLayers - below_feed_forward);
    EXPECT_EQ(calls(whole_model(run), attention_forward), 2 * kLayers);
    EXPECT_EQ(calls(whole_model(run), norm_backward), 2 * kLayers + 1);
  }
}

// Weights are gathered as usual, and each layer's adapters too; only the adapters' gradients are reduced.
TEST(LoraCosts, OnlyGradientsOfAdaptersAreReduced) {
  auto run = lora_tiny();
  run.mesh.ici.fsdp = 4;
  for (const std::int64_t prefetch : {0, 1}) {
    run.fsdp_prefetch = prefetch;
    std::map<std::string, spec::AxisTraffic> by_kind;
    for (const auto& t : dry_walk(run, 0).traffic) {
      if (t.axis == "fsdp") by_kind[t.collective] = t;
    }
    EXPECT_EQ(by_kind["all_gather"].messages, 2 * (2 * kLayers - prefetch) + 2);
    EXPECT_EQ(by_kind["reduce_scatter"].messages, kLayers);
    EXPECT_EQ(by_kind["reduce_scatter"].payload_bytes, kLayers * kAdapters * 4);
  }
}

// A part of an adapter's sum is added to that of its product, so adapters add no collective along tp. Without adapters
// the model has two more: the sum that is the gradient of layer 0's input, and its gathering for the embedding's
// gradient.
TEST(LoraCosts, AdaptersAddNoCollectiveToALayersSums) {
  auto run = lora_tiny();
  run.mesh.ici.tp = 2;
  const auto messages = [](const spec::RunSpec& of, const char* collective) {
    std::int64_t sum = 0;
    for (const auto& t : dry_walk(of, 0).traffic) sum += t.axis == "tp" && t.collective == collective ? t.messages : 0;
    return sum;
  };
  for (const char* collective : {"all_gather", "reduce_scatter"}) {
    EXPECT_GT(messages(run, collective), 0);
    EXPECT_EQ(messages(run, collective), messages(whole_model(run), collective) - 1) << collective;
  }
}

}  // namespace
}  // namespace perfbench::engine
