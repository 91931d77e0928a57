// The part to which a name belongs.
#include <gtest/gtest.h>

#include "harness/trace/trace_part.h"

namespace perfbench::harness {
namespace {

TEST(TracePart, FollowsTheOperation) {
  EXPECT_EQ(part_of(spec::TraceOp::matmul), TracePart::gemm);
  EXPECT_EQ(part_of(spec::TraceOp::attention_backward), TracePart::attention);
  EXPECT_EQ(part_of(spec::TraceOp::norm_apply), TracePart::norm);
  EXPECT_EQ(part_of(spec::TraceOp::rope), TracePart::elementwise);
  EXPECT_EQ(part_of(spec::TraceOp::adamw), TracePart::optimizer);
  EXPECT_EQ(part_of(spec::TraceOp::upload), TracePart::copy);
}

TEST(TracePart, EveryOperationHasOneAndCopiesAreSpansOfCopies) {
  for (const auto& [op, name] : spec::EnumNames<spec::TraceOp>::kNames) {
    EXPECT_NE(part_of(op), TracePart::other) << name;
    const bool moves = spec::trace_kind(op) != spec::TraceKind::op;
    EXPECT_EQ(part_of(op) == TracePart::copy, moves) << name;
  }
}

TEST(TracePart, ASpansPartComesFromItsNameUnlessItIsACollective) {
  EXPECT_EQ(part_of_span(spec::TraceKind::op, "matmul"), TracePart::gemm);
  EXPECT_EQ(part_of_span(spec::TraceKind::submit, "all_gather"), TracePart::collective);
  EXPECT_EQ(part_of_span(spec::TraceKind::op, "no_such_operation"), std::nullopt);
}

// Demangled names of libraries.
TEST(TracePart, AKernelWithoutASpanIsSortedByItsName) {
  for (const auto& [name, part] :
       {std::pair{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64", TracePart::gemm},
        std::pair{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(Params)", TracePart::gemm},
        std::pair{"nvjet_tst_128x256_64x4_2x1_v_bz_TNT", TracePart::gemm},
        std::pair{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3", TracePart::attention},
        std::pair{"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", TracePart::attention},
        std::pair{"void rms_norm_kernel<__nv_bfloat16>(float*, int)", TracePart::norm},
        std::pair{"void LayerNormForward<float>(float const*)", TracePart::norm},
        std::pair{"adamw_kernel(float*, float const*)", TracePart::optimizer},
        std::pair{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", TracePart::collective},
        std::pair{"void at::native::vectorized_elementwise_kernel<4, AddFunctor>(int)", TracePart::elementwise},
        std::pair{"_Z3fooPf", TracePart::other}}) {
    EXPECT_EQ(part_of_kernel(name), part) << name;
  }
}

}  // namespace
}  // namespace perfbench::harness
