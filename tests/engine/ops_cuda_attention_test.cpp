// Properties of the cuda backend's attentions beyond the operations' definitions (ops_attention_test.cpp).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/core/error.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/ops/cuda/attention/attention_dot_product.h"
#include "engine/ops/cuda/attention/attention_flash.h"
#include "engine/ops/cuda/attention/attention_provider.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/workspace.h"
#include "tests/engine/cuda_attention.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine::cuda {
namespace {

using oracle::Operand;
using oracle::Values;
using spec::AttentionKind;
using testing::HasSubstr;

// Sums of the same bf16 numbers in another order differ by some units of f32, which changes the rounding of a result to
// bf16 by at most one place. So there are two roundings of the same value, and the loss of small results whose terms
// cancelled.
void expect_alike(const Operand& one, const Operand& other, std::string_view what) {
  const Values a = one.values();
  const Values b = other.values();
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 2.0 * oracle::kUnitBf16 * std::abs(a[i]) + oracle::gamma(1000) * largest)
        << what << " " << i;
  }
}

// 150 rows in parts of 64 of one head; then two of three heads at once.
TEST_F(CudaAttention, DotProductMayComputeItsScoresInParts) {
  for (const auto& [seq_len, floats] : {std::pair<std::int64_t, std::int64_t>{150, 150 * 100}, {40, 2 * 40 * 40}}) {
    const AttentionDims dims{.batch = 2, .seq_len = seq_len, .n_heads = 6, .n_kv_heads = 3, .head_dim = 16};
    const AttentionProblem whole(DType::bf16, dims, ScoreBias::by_distance);
    const AttentionProblem parts(DType::bf16, dims, ScoreBias::by_distance);
    const auto ops = make_ops(AttentionChoice::own);
    MatmulProvider matmul(*device_, F32Products::exact);
    DotProductTools tools{matmul, [&](RowsView out, TensorView in) { ops->copy(out.dense(), in); }, device_->compute(),
                          workspace().data};
    dot_product_forward(whole.forward(AttentionKind::dot_product), tools);
    dot_product_backward(whole.backward(AttentionKind::dot_product), tools);
    tools.score_floats = floats;
    dot_product_forward(parts.forward(AttentionKind::dot_product), tools);
    dot_product_backward(parts.backward(AttentionKind::dot_product), tools);
    wait();
    expect_alike(parts.logsumexp, whole.logsumexp, "logsumexp");
    expect_alike(parts.weights, whole.weights, "weights");
    expect_alike(parts.context, whole.context, "context");
    expect_alike(parts.dquery, whole.dquery, "dquery");
    expect_alike(parts.dkey, whole.dkey, "dkey");
    expect_alike(parts.dvalue, whole.dvalue, "dvalue");
    // Sums of up to 150 rounded gradients, each of which may differ in its last place.
    expect_alike(parts.dbias, whole.dbias, "dbias");
  }
}

// Rows that begin at an unaligned address are loaded element by element, with the same bits.
TEST_F(CudaAttention, FlashTakesOperandsAtAnyAddress) {
  const AttentionDims dims{.batch = 1, .seq_len = 70, .n_heads = 2, .n_kv_heads = 1, .head_dim = 24};
  for (const auto dtype : {DType::f32, DType::bf16}) {
    const AttentionProblem p(dtype, dims);
    const auto ops = make_ops(AttentionChoice::own);
    ops->attention_forward(p.forward(AttentionKind::flash));
    const Operand held(dtype, Shape{p.key.view().elements() + 1});
    const TensorView shifted = held.view().slice(1, p.key.view().shape);
    wait();
    std::memcpy(shifted.data, p.key.view().data, static_cast<std::size_t>(shifted.bytes()));
    const Operand context(dtype, p.rows(dims.n_heads));
    auto args = p.forward(AttentionKind::flash);
    args.key = shifted;
    args.context = context;
    ops->attention_forward(args);
    wait();
    EXPECT_EQ(context.bytes(), p.context.bytes());
  }
}

TEST_F(CudaAttention, FlashRefusesHeadsThatItsTilesDoNotHold) {
  const AttentionProblem p(DType::bf16, {.batch = 1, .seq_len = 2, .n_heads = 1, .n_kv_heads = 1, .head_dim = 264});
  const auto ops = make_ops(AttentionChoice::own);
  try {
    ops->attention_forward(p.forward(AttentionKind::flash));
    ADD_FAILURE() << "was computed";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.exit(), EngineExit::infeasible);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("256"), HasSubstr("264")));
  }
}

TEST_F(CudaAttention, NeedsThePlannedWorkspace) {
  const AttentionProblem p(DType::bf16, {.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8});
  const auto ops = make_ops(AttentionChoice::own);
  ops->use_workspace(workspace().reshaped(Shape{4}));
  EXPECT_THROW(ops->attention_backward(p.backward(AttentionKind::flash)), LogicFault);
  EXPECT_THROW(ops->attention_forward(p.forward(AttentionKind::dot_product)), LogicFault);
}

// Sums for two tiles of 64 queries, or for four of 32.
TEST_F(CudaAttention, ABiasNeedsItsSumsInTheWorkspace) {
  for (const auto& [dtype, head_dim, tiles] :
       {std::tuple{DType::bf16, 136, 2}, {DType::f32, 128, 2}, {DType::f32, 136, 4}}) {
    const AttentionProblem p(dtype, {.batch = 2, .seq_len = 100, .n_heads = 3, .n_kv_heads = 3, .head_dim = head_dim},
                             ScoreBias::by_distance);
    const std::int64_t planned = (1 + tiles) * 2 * 3 * 100;
    EXPECT_EQ(workspace::flash_bias_bytes(p.dims, dtype), 4 * planned);
    const auto ops = make_ops(AttentionChoice::own);
    ops->use_workspace(workspace().slice(0, Shape{planned - 1}));
    EXPECT_THROW(ops->attention_backward(p.backward(AttentionKind::flash)), LogicFault);
    const TensorView behind = workspace().slice(planned, Shape{1});
    ops->fill(behind, 7.0);
    ops->use_workspace(workspace().slice(0, Shape{planned}));
    ops->attention_backward(p.backward(AttentionKind::flash));
    wait();
    EXPECT_EQ(*behind.as<float>(), 7.0F);
  }
}

TEST_F(CudaAttention, AnAbsentLibraryIsAnErrorOnlyIfItWasRequested) {
  if (!cudnn_versions().empty()) GTEST_SKIP() << "skipped: built with cuDNN";
  const AttentionProblem p(DType::bf16, {.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8});
  const auto ops = make_ops(AttentionChoice::automatic);
  EXPECT_NO_THROW(ops->attention_forward(p.forward(AttentionKind::flash)));
  ASSERT_EQ(ops->attention_kernels().size(), 1U);
  EXPECT_EQ(ops->attention_kernels()[0].reason, "built without cuDNN");
  EXPECT_THROW(make_ops(AttentionChoice::cudnn)->attention_forward(p.forward(AttentionKind::flash)), EngineError);
  wait();
}

// cuDNN, with parts so small that small problems are divided.
const CudaOpsOptions kLibraryInSmallParts{
    .precision = spec::Precision::bf16, .attention = AttentionChoice::cudnn, .attention_parts = {.rows = 1024}};

// The library's kernels and our own read each other's logsumexp. Both multiply rounded weights: each errs by a unit of
// bf16 of the terms' magnitude, and by the rounding of its result.
TEST_F(CudaAttention, TheLibraryEqualsTheOwnKernels) {
  if (cudnn_versions().empty()) GTEST_SKIP() << "skipped: built without cuDNN";
  // Undivided, with sequences in parts of 8 and 2, and with key/value heads of each sequence in parts of 8 and 2.
  for (const AttentionDims& dims : {AttentionDims{2, 120, 4, 2, 64}, AttentionDims{2, 120, 4, 2, 128},
                                    AttentionDims{10, 64, 2, 1, 64}, AttentionDims{2, 64, 20, 10, 64}}) {
    const AttentionProblem own(DType::bf16, dims);
    const AttentionProblem library(DType::bf16, dims);
    const auto own_ops = make_ops(AttentionChoice::own);
    const auto library_ops = make_ops(kLibraryInSmallParts);
    own_ops->attention_forward(own.forward(AttentionKind::flash));
    library_ops->attention_forward(library.forward(AttentionKind::flash));
    own_ops->attention_backward(own.backward(AttentionKind::flash));
    library_ops->attention_backward(library.backward(AttentionKind::flash));
    wait();
    const auto alike = [](const Operand& a, const Operand& b, double magnitude, const char* what) {
      const Values x = a.values();
      const Values y = b.values();
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(x[i], y[i], 2.0 * oracle::kUnitBf16 * (std::abs(x[i]) + magnitude)) << what << " " << i;
      }
    };
    const auto truth = oracle::attention_forward(own.query.values(), own.key.values(), own.value.values(), dims);
    const auto gradient = oracle::attention_backward(own.dcontext.values(), own.query.values(), own.key.values(),
                                                     own.value.values(), dims);
    const auto largest = [](const Values& v) { return *std::max_element(v.begin(), v.end()); };
    // Not rounded to bf16, and a difference of maximum and logarithm, which may nearly cancel: sums of head_dim terms
    // in f32 err by gamma of their magnitude, here below 16.
    const double of_scores = 2 * oracle::gamma(static_cast<double>(dims.head_dim)) * 16.0;
    const Values x = library.logsumexp.values(), y = own.logsumexp.values();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], of_scores) << "logsumexp " << i;
    alike(library.context, own.context, largest(truth.context_magnitude), "context");
    alike(library.dquery, own.dquery, 4 * largest(gradient.dquery.magnitude), "dquery");
    alike(library.dkey, own.dkey, 4 * largest(gradient.dkey.magnitude), "dkey");
    alike(library.dvalue, own.dvalue, 4 * largest(gradient.dvalue.magnitude), "dvalue");
  }
}

// A part is an independent problem: the last two sequences of ten equal a batch of these two, bit for bit.
TEST_F(CudaAttention, TheLibrarysLastPartIsThatOfASmallerBatch) {
  if (cudnn_versions().empty()) GTEST_SKIP() << "skipped: built without cuDNN";
  const AttentionDims few{2, 64, 2, 1, 64};
  const AttentionProblem many(DType::bf16, {10, 64, 2, 1, 64});
  const AttentionProblem alone(DType::bf16, few);
  const auto last = [](const Operand& of, const Operand& like) {
    return of.view().slice(of.view().elements() - like.view().elements(), like.view().shape);
  };
  const auto ops = make_ops(kLibraryInSmallParts);
  ops->copy(alone.query, last(many.query, alone.query));
  ops->copy(alone.key, last(many.key, alone.key));
  ops->copy(alone.value, last(many.value, alone.value));
  ops->copy(alone.dcontext, last(many.dcontext, alone.dcontext));
  ops->attention_forward(many.forward(AttentionKind::flash));
  ops->copy(alone.context, last(many.context, alone.context));
  ops->copy(alone.logsumexp, last(many.logsumexp, alone.logsumexp));
  ops->attention_backward(many.backward(AttentionKind::flash));
  ops->attention_backward(alone.backward(AttentionKind::flash));
  for (const auto& [part, whole] :
       {std::pair{&alone.dquery, &many.dquery}, {&alone.dkey, &many.dkey}, {&alone.dvalue, &many.dvalue}}) {
    const Operand copied(DType::bf16, part->view().shape);
    ops->copy(copied, last(*whole, *part));
    wait();
    EXPECT_EQ(copied.bytes(), part->bytes());
  }
}

}  // namespace
}  // namespace perfbench::engine::cuda
