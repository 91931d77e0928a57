// The cost of a step's operations, compared with the report of the same walk, and with closed forms that share no code
// with it.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {
namespace {

using spec::TraceOp;

std::map<TraceOp, spec::OperationWork> operations_of(const spec::RunSpec& run, std::int64_t rank = 0) {
  std::map<TraceOp, spec::OperationWork> out;
  for (const auto& work : count_operations(run, rank).operations) out[work.operation] = work;
  return out;
}

TEST(Operations, HaveTheFlopsOfTheReport) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      for (const char* policy : {"none", "full", "qkv_proj_offloaded"}) {
        for (const std::int64_t fsdp : {1, 4}) {
          run.attention = kind;
          run.remat = policy;
          run.grad_accum = 2;
          run.mesh.ici.fsdp = fsdp;
          const auto operations = operations_of(run, fsdp - 1);
          std::int64_t sum = 0;
          for (const auto& [name, work] : operations) sum += work.flops;
          const auto flops = dry_walk(run, fsdp - 1).flops;
          EXPECT_EQ(sum, flops.executed_flops()) << policy;
          const std::int64_t of_attention =
              operations.at(TraceOp::attention_forward).flops + operations.at(TraceOp::attention_backward).flops;
          EXPECT_GE(of_attention, flops.attention_score_flops) << policy;
          EXPECT_EQ(of_attention + operations.at(TraceOp::matmul).flops, sum) << policy;
        }
      }
    }
  }
}

// Four products of a gated layer (query, key and value; out; gate and up; down), each with two gradients, and three for
// each chunk of logits, in each microbatch; as separate products they are seven. 8*16 tokens: two microbatches of 64
// are chunks of 24, 24 and 16.
TEST(Operations, AreCalledAsOftenAsTheModelSays) {
  auto run = llama_tiny();
  run.grad_accum = 2;
  run.loss_chunk_tokens = 24;
  const auto operations = operations_of(run);
  EXPECT_EQ(operations.at(TraceOp::matmul).calls, 2 * (run.model.layers * 4 * 3 + 3 * 3));
  auto apart = run;
  apart.fused_qkv = apart.fused_mlp = false;
  EXPECT_EQ(operations_of(apart).at(TraceOp::matmul).calls, 2 * (run.model.layers * 7 * 3 + 3 * 3));
  EXPECT_EQ(operations.at(TraceOp::cross_entropy).calls, 2 * 3);
  EXPECT_EQ(operations.at(TraceOp::attention_backward).calls, 2 * run.model.layers);
  EXPECT_EQ(operations.at(TraceOp::norm_backward).calls, 2 * (2 * run.model.layers + 1));
  EXPECT_EQ(operations.at(TraceOp::adamw).calls, 1);
  EXPECT_FALSE(operations.contains(TraceOp::cast));
  EXPECT_FALSE(operations.contains(TraceOp::one_hot));
  // Again for each chunk of tokens, forward and backward.
  run.embedding = spec::EmbeddingKind::one_hot;
  const auto by_products = operations_of(run);
  EXPECT_EQ(by_products.at(TraceOp::one_hot).calls, 2 * 2 * 3);
  EXPECT_EQ(by_products.at(TraceOp::matmul).calls, operations.at(TraceOp::matmul).calls + 2 * 2 * 3);
  EXPECT_FALSE(by_products.contains(TraceOp::embedding_forward));  // no positions
  EXPECT_FALSE(operations.contains(TraceOp::bias_backward));
}

// Biases are as adjacent as weights are. With fewer key and value heads than ranks along tp, a rank's weights are not
// the first ones, so they are separate products.
TEST(Operations, AreJoinedIfTheirWeightsAreAdjacent) {
  auto biased = gpt_tiny();
  biased.loss_chunk_tokens = 1 << 20;
  const auto matmuls = [](const spec::RunSpec& run, std::int64_t rank) {
    return operations_of(run, rank).at(TraceOp::matmul).calls;
  };
  EXPECT_EQ(matmuls(biased, 0), 3 * (biased.model.layers * 4 + 1));
  EXPECT_EQ(operations_of(biased).at(TraceOp::bias_backward).calls, biased.model.layers * 4);
  auto few_heads = llama_tiny();
  few_heads.loss_chunk_tokens = 1 << 20;
  few_heads.mesh.ici.tp = 2;
  EXPECT_EQ(matmuls(few_heads, 1), 3 * (few_heads.model.layers * 4 + 1));
  few_heads.model.n_kv_heads = 1;
  EXPECT_EQ(matmuls(few_heads, 1), 3 * (few_heads.model.layers * 6 + 1));
}

// A layer's bias is made for the forward pass, for flash attention's recomputation of scores in the backward pass, and
// a third time if the forward pass is repeated; dot_product needs only its gradient.
TEST(Operations, RecomputeARelativeBiasWithTheScores) {
  auto run = t5_tiny();
  const std::int64_t layers = run.model.layers;
  const auto made = [&] { return operations_of(run).at(TraceOp::relative_bias_forward).calls; };
  EXPECT_EQ(made(), 2 * layers);
  EXPECT_EQ(operations_of(run).at(TraceOp::relative_bias_backward).calls, layers);
  run.remat = "full";
  EXPECT_EQ(made(), 3 * layers);
  run.attention = spec::AttentionKind::dot_product;
  EXPECT_EQ(made(), 2 * layers);
  EXPECT_EQ(operations_of(run).at(TraceOp::relative_bias_backward).calls, layers);
}

// f32 weights, gradients and two moments are read, and all but the gradients written: 28 bytes a parameter, and the
// step's four factors. Every matrix of the model divides into alignments of 16 elements, so nothing is padded.
TEST(Operations, UpdateEveryParameterOnceAStep) {
  auto run = llama_tiny();
  const std::int64_t parameters = spec::count_parameters(run.model).total;
  for (const std::int64_t accumulate : {1, 4}) {
    run.grad_accum = accumulate;
    const auto operations = operations_of(run);
    EXPECT_EQ(operations.at(TraceOp::adamw).bytes, 28 * parameters + 4 * 8);
    EXPECT_EQ(operations.at(TraceOp::sum_of_squares).bytes, 4 * parameters + 8);
  }
}

// Weights kept in bf16 are written with the update, 2 bytes a parameter, and never cast.
TEST(Operations, DoNotCastKeptBf16Weights) {
  auto run = llama_tiny();
  const std::int64_t parameters = spec::count_parameters(run.model).total;
  run.precision = spec::Precision::bf16;
  EXPECT_EQ(operations_of(run).at(TraceOp::cast).calls, 2 * run.model.layers + 2);
  run.bf16_weights = spec::Bf16Weights::kept;
  EXPECT_EQ(operations_of(run).at(TraceOp::adamw).bytes, 30 * parameters + 4 * 8);
  for (const std::int64_t fsdp : {1, 4}) {
    run.mesh.ici.fsdp = fsdp;
    EXPECT_FALSE(operations_of(run).contains(TraceOp::cast));
  }
}

// A further chunk reads the weights twice, for the logits and for the gradient of its rows, and reads and writes the
// gradient of the weights: V*M*4 bytes four times.
TEST(Operations, MoveTheUnembeddingOnceForEachChunkOfLogits) {
  auto run = llama_tiny();
  const std::int64_t weight = run.model.vocab_size * run.model.d_model * 4;
  run.loss_chunk_tokens = 128;
  const auto one = operations_of(run).at(TraceOp::matmul);
  run.loss_chunk_tokens = 32;
  const auto four = operations_of(run).at(TraceOp::matmul);
  EXPECT_EQ(four.flops, one.flops);
  EXPECT_EQ(four.bytes - one.bytes, 3 * (2 * weight + 2 * weight));
}

// A weight [out, in] has a product with N tokens, and those for the gradients of its input and of itself.
TEST(Operations, ByFormHaveTheSizesOfTheWeights) {
  auto run = llama_tiny();
  run.loss_chunk_tokens = 1 << 20;
  const auto& model = run.model;
  const std::int64_t tokens = run.global_batch * run.seq_len;
  using Form = std::tuple<std::string, std::vector<std::int64_t>>;
  std::map<Form, std::int64_t> expected;
  const auto add_weight = [&](std::int64_t out, std::int64_t in, std::int64_t count) {
    expected[{"NT", {tokens, out, in}}] += count;
    expected[{"NN", {tokens, in, out}}] += count;
    expected[{"TN", {out, in, tokens}}] += count;
  };
  add_weight((model.n_heads + 2 * model.n_kv_heads) * model.head_dim, model.d_model, model.layers);
  add_weight(model.d_model, model.n_heads * model.head_dim, model.layers);
  add_weight(2 * model.d_ff, model.d_model, model.layers);
  add_weight(model.d_model, model.d_ff, model.layers);
  add_weight(model.vocab_size, model.d_model, 1);
  std::map<Form, std::int64_t> found;
  for (const auto& work : count_operations(run, 0, OperationRows::by_form).operations) {
    if (work.operation != TraceOp::matmul) continue;
    EXPECT_EQ(work.dtype, "f32");
    found[{work.kind, work.dims}] += work.calls;
  }
  EXPECT_EQ(found, expected);
}

TEST(Operations, ByFormAddUpToTheWhole) {
  auto run = gpt_tiny();
  run.precision = spec::Precision::bf16;
  run.remat = "full";
  run.loss_chunk_tokens = 24;
  std::map<TraceOp, spec::OperationWork> sums;
  bool saw_attention = false;
  for (const auto& work : count_operations(run, 0, OperationRows::by_form).operations) {
    auto& sum = sums[work.operation];
    sum.calls += work.calls;
    sum.flops += work.flops;
    sum.bytes += work.bytes;
    if (work.operation != TraceOp::attention_forward) continue;
    saw_attention = true;
    const auto& m = run.model;
    EXPECT_EQ(work.dims, (std::vector{run.global_batch, run.seq_len, m.n_heads, m.n_kv_heads, m.head_dim}));
    EXPECT_EQ(work.kind, "flash");
    EXPECT_EQ(work.dtype, "bf16");
  }
  EXPECT_TRUE(saw_attention);
  const auto whole = operations_of(run);
  ASSERT_EQ(sums.size(), whole.size());
  for (const auto& [operation, work] : whole) {
    EXPECT_EQ(sums[operation].calls, work.calls);
    EXPECT_EQ(sums[operation].flops, work.flops);
    EXPECT_EQ(sums[operation].bytes, work.bytes);
    EXPECT_TRUE(work.dims.empty() && work.kind.empty() && work.dtype.empty());
  }
}

TEST(Operations, AreReplacedByAReasonForAnInfeasibleRun) {
  auto run = llama_tiny();
  run.precision = spec::Precision::tf32;
  auto report = count_operations(run, 0);
  EXPECT_FALSE(report.feasible);
  EXPECT_NE(report.reason.find("tf32"), std::string::npos);
  EXPECT_TRUE(report.operations.empty());
  run = llama_tiny();
  run.memory_limit_bytes = 1000;
  report = count_operations(run, 0);
  EXPECT_FALSE(report.feasible);
  EXPECT_NE(report.reason.find("memory_limit_bytes is 1000"), std::string::npos);
  EXPECT_FALSE(report.operations.empty());
}

TEST(Operations, AreWrittenAndReadAsALine) {
  const auto report = count_operations(gpt_tiny(), 0);
  const auto line = to_json_line(report);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find(R"({"bytes":)"), std::string::npos);
  EXPECT_NE(line.find(R"("operation":"attention_backward")"), std::string::npos);
  const auto read = spec::fields_from_json<spec::DryOperations>(spec::parse_json(line), spec::Missing::is_error);
  EXPECT_EQ(to_json_line(read), line);
}

}  // namespace
}  // namespace perfbench::engine
