// Features of the cuda backend alone: staged uploads, reports from kernels, a planned workspace, shapes of launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/error.h"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/host/upload_staging.h"
#include "engine/ops/cuda/noise_probe.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/operand.h"

namespace perfbench::engine {
namespace {

using oracle::Operand;
using oracle::Values;
using testing::HasSubstr;

class CudaOpsTest : public OpsTest {};

// More than the staging memory holds; the source is overwritten as soon as each call returns.
TEST_F(CudaOpsTest, AnUploadIsOverWithItsSourceWhenItReturns) {
  const std::int64_t n = 3 * cuda::UploadStaging::kSlotBytes / size_bytes(DType::i32) + 5;
  const Operand first(DType::i32, Shape{n});
  const Operand second(DType::i32, Shape{n});
  std::vector<std::int32_t> source(static_cast<std::size_t>(n));
  const auto fill = [&](std::int32_t from) {
    for (auto& x : source) x = from++;
  };
  fill(0);
  ops_->upload(first, source.data());
  fill(1000);
  ops_->upload(second, source.data());
  fill(-1);
  wait_for_ops();
  for (std::int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(first.view().as<std::int32_t>()[i], i);
    ASSERT_EQ(second.view().as<std::int32_t>()[i], 1000 + i);
  }
}

TEST_F(CudaOpsTest, TheLowestBadTokenIsReportedWithItsRowAndTheVocabulary) {
  const std::int64_t rows = 300;
  Values ids(static_cast<std::size_t>(rows), 1.0);
  ids[200] = -7.0;
  ids[100] = 12.0;
  const Operand tokens(DType::i32, Shape{rows}, ids);
  const Operand table(DType::f32, Shape{12, 8});
  const Operand x(DType::f32, Shape{rows, 8});
  const Operand value(DType::f64, Shape{1});
  const auto message = [&] {
    try {
      ops_->read_f64(value);
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ops_->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .seq_len = rows});
  EXPECT_THAT(message(), HasSubstr("embedding: token 12 at position 100 of the batch is outside the vocabulary of 12"));
  EXPECT_TRUE(std::isnan(x.values()[100 * 8]));
  const Operand logits(DType::f32, Shape{rows, 12});
  const Operand losses(DType::f32, Shape{rows});
  ops_->cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = tokens});
  EXPECT_THAT(message(), HasSubstr("cross entropy: target 12 at position 100"));
  EXPECT_TRUE(std::isnan(losses.values()[200]));
  EXPECT_EQ(message(), "");
}

TEST_F(CudaOpsTest, AWorkspaceThatIsTooSmallIsALogicFault) {
  const Operand out(DType::f64, Shape{1});
  const Operand x(DType::f32, Shape{8});
  ops_->use_workspace({out.view().data, DType::f64, Shape{1}});
  EXPECT_THROW(ops_->sum(out, x, Write::overwrite), LogicFault);
}

// Only the device knows where rows go: a replay uses other logits than its recording.
TEST_F(CudaOpsTest, ARecordingOfExpertsFollowsTheLogits) {
  const std::int64_t tokens = 24, experts = 8, choices = 2, width = 16;
  Operand logits(DType::f32, Shape{tokens, experts});
  const Operand gates(DType::f32, Shape{tokens, choices}), dropped(DType::f32, Shape{experts});
  const Operand chosen(DType::i32, Shape{tokens, choices}), row_of(DType::i32, Shape{tokens, choices});
  const Operand choice_of(DType::i32, Shape{tokens * choices}), segments(DType::i32, Shape{1, experts, 2});
  const Operand balance(DType::f32, Shape{1}), load(DType::f32, Shape{1});
  const auto x = oracle::random_operand(DType::bf16, Shape{tokens, width}, 1);
  const auto weights = oracle::random_operand(DType::bf16, Shape{experts, width, width}, 2);
  const Operand rows(DType::bf16, Shape{tokens * choices, width}),
      products(DType::bf16, Shape{tokens * choices, width});
  const Operand out(DType::bf16, Shape{tokens, width});
  const auto run = [&] {
    ops_->route_forward({.logits_NE = logits,
                         .gates_NC = gates,
                         .experts_NC = chosen,
                         .rows_NC = row_of,
                         .choices_Q = choice_of,
                         .segments_E2 = segments.view().reshaped(Shape{experts, 2}),
                         .balance_B = balance,
                         .load_B = load,
                         .dropped_E = dropped,
                         .rule = {.part_rows = tokens * choices, .seq_len = tokens}});
    ops_->dispatch({.rows_QM = rows, .x_NM = x, .choices_Q = choice_of, .choices_per_token = choices});
    ops_->expert_product({.a = rows, .b = weights, .c = products, .segments_PX2 = segments});
    ops_->combine({.x_NM = out, .rows_QM = products, .rows_NC = row_of, .gates_NC = gates});
  };
  const auto with_logits = [&](unsigned seed, const std::function<void()>& f) {
    logits.set(oracle::random_operand(DType::f32, Shape{tokens, experts}, seed).values());
    f();
    return out.bytes();
  };
  const auto one = with_logits(3, run), other = with_logits(4, run);
  std::unique_ptr<Recording> recording;
  EXPECT_NE(one, other);
  EXPECT_EQ(one, with_logits(3, [&] {
              ops_->begin_recording();
              run();
              recording = ops_->end_recording(nullptr);
            }));
  EXPECT_EQ(other, with_logits(4, [&] { recording->replay(); }));
}

TEST_F(CudaOpsTest, TheNoiseProbeTakesTimeOfTheDevice) {
  const CudaDevice device(0);
  cuda::NoiseProbe probe(device);
  EXPECT_GT(probe.time_ns(), 0);
  EXPECT_GT(probe.time_ns(), 0);
}

TEST(CudaLaunchShapes, StayWithinTheLimitsOfAGridForAnyExtent) {
  using namespace cuda;  // NOLINT
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_EQ(flat_blocks(1, 4), 1U);
  EXPECT_EQ(flat_blocks(0, 4), 1U);
  EXPECT_EQ(flat_blocks(4 * kFlatThreads + 1, 4), 2U);
  EXPECT_LE(flat_blocks(kHuge, 4), kMostBlocksX);
  EXPECT_EQ(row_blocks(0), 1U);
  EXPECT_EQ(row_blocks(7), 7U);
  EXPECT_EQ(row_blocks(kHuge), kMostBlocksX);
  EXPECT_EQ(row_threads(1, 16), 32U);
  EXPECT_EQ(row_threads(33 * 16, 16), 64U);
  EXPECT_EQ(row_threads(kHuge, 16), 1024U);
  EXPECT_EQ(row_threads(kHuge, 16, 512), 512U);
}

}  // namespace
}  // namespace perfbench::engine
