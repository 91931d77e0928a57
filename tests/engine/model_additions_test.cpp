// Gradients of weights that are accumulated: the backend that computes the first product of a shape is told that
// additions follow, because a device that records may first meet these where it cannot measure.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <tuple>

#include "engine/core/error.h"
#include "engine/model/decoder.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

using ProblemShape = std::tuple<std::int64_t, std::int64_t, std::int64_t, Transpose>;

ProblemShape shape_of(const MatmulArgs& args) {
  const bool turned = args.transpose_a == Transpose::yes;
  return {args.c.shape[0], args.c.shape[1], args.a.shape[turned ? 0 : 1], args.transpose_a};
}

class NotingProducts : public cpu::CpuOps {
 public:
  std::set<ProblemShape> announced;
  std::set<ProblemShape> added;
  std::set<ProblemShape> surprises;  // additions that were not announced

 private:
  void do_matmul(const MatmulArgs& args) override {
    if (args.additions == Additions::follow) announced.insert(shape_of(args));
    if (args.write == Write::accumulate && args.transpose_a == Transpose::yes) {
      added.insert(shape_of(args));
      if (!announced.contains(shape_of(args))) surprises.insert(shape_of(args));
    }
    CpuOps::do_matmul(args);
  }
};

// One step's gradients.
void compute_gradients(NotingProducts& ops, const spec::RunSpec& run) {
  Memory memory(make_cpu_backing(), make_cpu_backing(), {});
  const auto collectives = make_single_collectives();
  PhaseClock clock;
  Context context{ops, memory, *collectives, clock};
  ParameterStore store(context, run, {}, false);
  Tensor experts(memory, {"experts", MemoryScope::workspace, DType::f64, Shape{2}});
  Decoder decoder(context, run, store,
                  {.balance = experts.view().slice(0, Shape{1}), .dropped = experts.view().slice(1, Shape{1})});
  const Shape microbatch{run.microbatch() * run.seq_len};
  Tensor tokens(memory, {"tokens", MemoryScope::activations, DType::i32, microbatch});
  Tensor loss(memory, {"loss", MemoryScope::workspace, DType::f64, Shape{1}});
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(microbatch.elements()));
  ops.upload(tokens, zeros.data());
  auto state = decoder.new_state(0);
  const Decoder::Microbatch batch{.tokens_N = tokens, .targets_N = tokens, .loss_sum = loss};
  for (std::int64_t m = 0; m < run.grad_accum; ++m) {
    decoder.forward(0, batch, {}, state);
    decoder.backward(0, batch, {}, state);
  }
}

TEST(Additions, ThoseOfMicrobatchesAreAnnouncedByTheFirst) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.global_batch = 3;
    run.grad_accum = 3;  // the second microbatch adds, and more follow it
    NotingProducts ops;
    compute_gradients(ops, run);
    EXPECT_TRUE(ops.surprises.empty());
    EXPECT_EQ(ops.announced, ops.added);
    // Query with key and value, out, up (in llama with gate), down, and the unembedding, all of distinct shapes.
    EXPECT_EQ(ops.added.size(), 5U);
  }
}

TEST(Additions, ThoseOfChunksOfLogitsAreAnnouncedByTheFirst) {
  auto run = llama_tiny();
  run.loss_chunk_tokens = 32;  // 128 tokens
  NotingProducts ops;
  compute_gradients(ops, run);
  EXPECT_TRUE(ops.surprises.empty());
  EXPECT_EQ(ops.announced.size(), 1U);
  EXPECT_EQ(ops.added, ops.announced);
}

TEST(Additions, AreNotAnnouncedIfNoneFollow) {
  for (const auto& run : {gpt_tiny(), llama_tiny()}) {
    NotingProducts ops;
    compute_gradients(ops, run);
    EXPECT_TRUE(ops.announced.empty());
    EXPECT_TRUE(ops.added.empty());
  }
}

TEST(Additions, FollowNoProductThatAddsItself) {
  NotingProducts ops;
  std::array<float, 4> values{};
  const TensorView matrix{values.data(), DType::f32, Shape{2, 2}};
  MatmulArgs product{.a = matrix, .b = matrix, .c = matrix, .additions = Additions::follow};
  EXPECT_NO_THROW(ops.matmul(product));
  product.write = Write::accumulate;
  EXPECT_THROW(ops.matmul(product), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
