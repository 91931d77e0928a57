// The planned workspace, compared with what kernels request.
#include <gtest/gtest.h>

#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/workspace.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

// 16 elements a thread and 128 registers, of which a multiprocessor has 65536; 128 multiprocessors.
TEST(NormRowGroups, FindRoomAtOnceUpTo4096Elements) {
  for (std::int64_t width = 1; width <= 4096; ++width) {
    const std::int64_t blocks_at_once = 128 * (512 / cuda::row_threads(width, 16));
    ASSERT_LE(workspace::norm_row_groups(width), blocks_at_once) << width;
  }
  EXPECT_EQ(workspace::norm_row_groups(64), 1024);
  EXPECT_EQ(workspace::norm_row_groups(768), 1024);
  EXPECT_EQ(workspace::norm_row_groups(1024), 1024);
  EXPECT_EQ(workspace::norm_row_groups(1600), 512);
  EXPECT_EQ(workspace::norm_row_groups(2048), 512);
  EXPECT_EQ(workspace::norm_row_groups(3072), 256);
  EXPECT_EQ(workspace::norm_row_groups(8192), 256);
}

// A head is a row of its norm, and may be wider than the model's rows.
TEST(Workspace, HoldsTheSumsOfANormOfHeads) {
  auto run = qwen3_tiny();
  run.device = spec::Device::cuda;
  run.precision = spec::Precision::fp32;
  run.model.head_dim = 1 << 20;
  run.model.n_heads = run.model.n_kv_heads = 1;
  run.attention = spec::AttentionKind::flash;
  EXPECT_GE(workspace::bytes(run), workspace::norm_row_groups(run.model.head_dim) * 2 * run.model.head_dim * 4);
}

// The backward pass of our own kernels needs an f32 for each row of 8 sequences' 4 heads.
TEST(Workspace, HoldsNoLibraryAttentionIfOurOwnIsUsed) {
  auto run = gpt_tiny();
  run.device = spec::Device::cuda;
  run.precision = spec::Precision::bf16;
  run.seq_len = 1 << 20;
  const std::int64_t of_either = workspace::bytes(run);
  run.attention_kernel = spec::AttentionChoice::own;
  EXPECT_EQ(workspace::attention_bytes(run), std::int64_t{8 * 4 * 4} << 20);
  EXPECT_LT(workspace::bytes(run), of_either);
  run.attention_kernel = spec::AttentionChoice::cudnn;
  EXPECT_EQ(workspace::bytes(run), of_either);
}

// A wider norm may need less, so a plan for the widest of several widths would be too small.
TEST(Workspace, HoldsEverySumOfEveryWidth) {
  EXPECT_LT(workspace::norm_backward_bytes(1025), workspace::norm_backward_bytes(1024));
  auto run = gpt_tiny();
  run.device = spec::Device::cuda;
  for (std::int64_t width = 1; width < 300'000; width += width < 5000 ? 1 : 997) {
    for (const bool narrow_rest : {false, true}) {
      auto& model = run.model;
      model.d_model = width;
      model.d_ff = narrow_rest ? 1 : 4 * width;
      model.n_heads = 1;
      model.head_dim = narrow_rest ? 2 : width;
      const std::int64_t planned = workspace::bytes(run);
      // f32 sums of weight and bias for each group, and of a bias of any layer.
      ASSERT_GE(planned, workspace::norm_row_groups(width) * 2 * width * 4) << width;
      for (const std::int64_t bias : {width, model.d_ff, model.n_heads * model.head_dim}) {
        ASSERT_GE(planned, workspace::kBiasRowGroups * bias * 4) << bias;
      }
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
