// How kernels report that memory for their threads is refused, and how much they request. aligned_alloc, from which
// kernels get it, is replaced in this executable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

#include "engine/core/error.h"
#include "engine/ops/cpu/matmul_provider.h"
#include "engine/ops/cpu/scratch.h"
#include "tests/engine/attention_problem.h"

namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> limit_bytes = kNoLimit;
std::atomic<std::size_t> largest_bytes = 0;  // the largest request

}  // namespace

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  largest_bytes = std::max(largest_bytes.load(), bytes);
  void* memory = nullptr;
  if (bytes > limit_bytes || ::posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return memory;
}

namespace perfbench::engine {

void* allocate_operand(std::size_t bytes) {
  void* memory = nullptr;
  return ::posix_memalign(&memory, 64, bytes + 64) == 0 ? memory : nullptr;
}
void free_operand(void* memory) {
  std::free(memory);
}
void wait_for_ops() {}

namespace {

using oracle::Operand;
using spec::AttentionKind;

constexpr int kThreads = 2;

class CpuScratch : public testing::Test {
 protected:
  void SetUp() override {
    threads_before_ = omp_get_max_threads();
    omp_set_num_threads(kThreads);
    largest_bytes = 0;
  }
  void TearDown() override {
    limit_bytes = kNoLimit;
    omp_set_num_threads(threads_before_);
  }

 private:
  int threads_before_ = 1;
};

// Rows of a vocabulary in bf16, enough for two threads, for ranks that share them or for one alone.
struct Head {
  static constexpr std::int64_t kRows = 4;
  static constexpr std::int64_t kVocabulary = 40'000;

  void whole(Ops& ops) const { ops.cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = targets}); }
  void part(Ops& ops) const {
    ops.cross_entropy_part(
        {.statistics_3N = statistics, .logits_NV = logits, .targets_N = targets, .range = {0, 2 * kVocabulary}});
  }

  Operand logits{DType::bf16, Shape{kRows, kVocabulary}};
  Operand losses{DType::f32, Shape{kRows}};
  Operand targets{DType::i32, Shape{kRows}};
  Operand statistics{DType::f32, Shape{kCrossEntropyStatistics, kRows}};
};

void own_product() {
  constexpr std::int64_t kSize = 256;
  const Operand a(DType::f32, Shape{kSize, kSize});
  const Operand c(DType::f32, Shape{kSize, kSize});
  cpu::own_provider().sgemm({.m = kSize,
                             .n = kSize,
                             .k = kSize,
                             .a = a.view().as<const float>(),
                             .a_stride = kSize,
                             .b = a.view().as<const float>(),
                             .b_stride = kSize,
                             .c = c.view().as<float>(),
                             .c_stride = kSize});
}

// An exception within a parallel region would end the process.
TEST_F(CpuScratch, ARefusedAllocationIsOutOfMemoryAndNamesItsSize) {
  const AttentionProblem attention(DType::f32,
                                   {.batch = 2, .seq_len = 256, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16});
  const Head head;
  const auto ops = make_cpu_ops();
  limit_bytes = 1024;
  const auto refused = testing::ThrowsMessage<OutOfMemory>(
      testing::MatchesRegex("out of memory: scratch of 2 threads needs [0-9]+ bytes"));
  for (const auto kind : {AttentionKind::flash, AttentionKind::dot_product}) {
    EXPECT_THAT([&] { ops->attention_forward(attention.forward(kind)); }, refused);
    EXPECT_THAT([&] { ops->attention_backward(attention.backward(kind)); }, refused);
  }
  EXPECT_THAT([&] { head.whole(*ops); }, refused);
  EXPECT_THAT([&] { head.part(*ops); }, refused);
  EXPECT_THAT([] { own_product(); }, refused);
  limit_bytes = kNoLimit;
  EXPECT_NO_THROW(ops->attention_backward(attention.backward(AttentionKind::flash)))
      << "what was refused is not taken for there";
}

TEST_F(CpuScratch, ARefusedUnplannedWorkspaceNamesTheOperation) {
  const Operand x(DType::bf16, Shape{64, 64});
  const auto ops = make_cpu_ops();
  limit_bytes = 1024;
  EXPECT_THAT([&] { ops->matmul({.a = x, .b = x, .c = x}); },
              testing::ThrowsMessage<OutOfMemory>(testing::MatchesRegex("out of memory: matmul needs [0-9]+ bytes")));
}

// engine/ops/cpu/scratch.h states how much a thread takes at most.
TEST_F(CpuScratch, AThreadTakesAsMuchAsTheHeaderSays) {
  for (const std::int64_t head_dim : {64, 128}) {
    for (const std::int64_t tokens : {256, 1024}) {
      const AttentionProblem attention(
          DType::f32, {.batch = 1, .seq_len = tokens, .n_heads = 2, .n_kv_heads = 2, .head_dim = head_dim});
      const auto most = [&](AttentionKind kind) {
        const auto ops = make_cpu_ops();
        largest_bytes = 0;
        ops->attention_forward(attention.forward(kind));
        ops->attention_backward(attention.backward(kind));
        return static_cast<std::int64_t>(largest_bytes.load()) / kThreads;
      };
      constexpr std::int64_t kTilesBytes = 256 << 10;
      const std::int64_t values = tokens * head_dim;
      EXPECT_LE(most(AttentionKind::flash), 32 * values + 8 * tokens + kTilesBytes) << tokens << " of " << head_dim;
      EXPECT_GE(most(AttentionKind::flash), 32 * values);
      EXPECT_LE(most(AttentionKind::dot_product), 8 * values + 192 * tokens + kTilesBytes)
          << tokens << " of " << head_dim;
      EXPECT_GE(most(AttentionKind::dot_product), 8 * values);
    }
  }
  const Head head;
  for (const auto run : {&Head::whole, &Head::part}) {
    const auto ops = make_cpu_ops();
    largest_bytes = 0;
    (head.*run)(*ops);
    // In addition, a maximum for each 1024 logits, rounded up to cache lines.
    const std::size_t most = kThreads * (4 * Head::kVocabulary + Head::kVocabulary / 1024 * 4 + 3 * 64);
    EXPECT_LE(largest_bytes, most);
    EXPECT_GE(largest_bytes, kThreads * 4 * static_cast<std::size_t>(Head::kVocabulary));
  }
  largest_bytes = 0;
  own_product();
  EXPECT_LE(largest_bytes, std::size_t{kThreads} * (3 << 19));
  EXPECT_GT(largest_bytes, 0);
}

}  // namespace
}  // namespace perfbench::engine
