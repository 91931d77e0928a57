// What the attentions of the cuda backend do beyond the operations' definitions (ops_attention_test.cpp).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/core/cuda_memory.h"
#include "engine/core/error.h"
#include "engine/ops/cuda/attention_dot_product.h"
#include "engine/ops/cuda/attention_flash.h"
#include "engine/ops/cuda/attention_provider.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/workspace.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine::cuda {
namespace {

using oracle::Operand;
using oracle::random_operand;
using oracle::Values;
using spec::AttentionKind;
using testing::HasSubstr;

struct Problem {
  Problem(DType dtype, const AttentionDims& dims_in)
      : dims(dims_in),
        query(random_operand(dtype, rows(dims.n_heads), 1)),
        key(random_operand(dtype, rows(dims.n_kv_heads), 2)),
        value(random_operand(dtype, rows(dims.n_kv_heads), 3)),
        dcontext(random_operand(dtype, rows(dims.n_heads), 4)),
        context(dtype, rows(dims.n_heads)),
        logsumexp(DType::f32, Shape{dims.batch, dims.n_heads, dims.seq_len}),
        weights(dtype, scores()),
        dweights(dtype, scores()),
        dquery(dtype, rows(dims.n_heads)),
        dkey(dtype, rows(dims.n_kv_heads)),
        dvalue(dtype, rows(dims.n_kv_heads)) {}

  Shape rows(std::int64_t heads) const { return {dims.batch * dims.seq_len, heads * dims.head_dim}; }
  Shape scores() const { return {dims.batch, dims.n_heads, dims.seq_len, dims.seq_len}; }

  AttentionForwardArgs forward(AttentionKind kind) const {
    return {.context = context,
            .logsumexp_BHT = logsumexp,
            .weights_BHTT = kind == AttentionKind::flash ? TensorView{} : weights.view(),
            .query = query,
            .key = key,
            .value = value,
            .dims = dims,
            .kind = kind};
  }
  AttentionBackwardArgs backward(AttentionKind kind) const {
    return {.dquery = dquery,
            .dkey = dkey,
            .dvalue = dvalue,
            .dcontext = dcontext,
            .query = query,
            .key = key,
            .value = value,
            .context = context,
            .logsumexp_BHT = logsumexp,
            .weights_BHTT = kind == AttentionKind::flash ? TensorView{} : weights.view(),
            .dweights_BHTT = kind == AttentionKind::flash ? TensorView{} : dweights.view(),
            .dims = dims,
            .kind = kind};
  }

  AttentionDims dims;
  Operand query, key, value, dcontext;
  Operand context, logsumexp, weights, dweights, dquery, dkey, dvalue;
};

class CudaAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_ops(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
    device_ = std::make_unique<CudaDevice>(0);
    memory_ = make_cuda_backing(*device_, kWorkspaceBytes);
  }

  std::unique_ptr<CudaOps> make_ops(AttentionChoice choice) const {
    auto ops =
        std::make_unique<CudaOps>(*device_, CudaOpsOptions{.precision = spec::Precision::bf16, .attention = choice});
    ops->use_workspace(workspace());
    return ops;
  }
  TensorView workspace() const {
    return {memory_->at(0, kWorkspaceBytes), DType::f32, Shape{kWorkspaceBytes / size_bytes(DType::f32)}};
  }
  void wait() const { device_->synchronize(); }

  static constexpr std::int64_t kWorkspaceBytes = std::int64_t{64} << 20;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<ArenaBacking> memory_;
};

// Sums of the same bf16 numbers in another order differ by some units of f32, which tips the rounding of a result to
// bf16 by at most one place: two roundings from the same value, and what small results lost when terms cancelled.
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
    const Problem whole(DType::bf16, dims);
    const Problem parts(DType::bf16, dims);
    const auto ops = make_ops(AttentionChoice::own);
    MatmulProvider matmul(*device_, F32Products::exact);
    DotProductTools tools{matmul, [&](TensorView out, TensorView in) { ops->copy(out, in); }, device_->compute(),
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
  }
}

// Rows that begin at any address are loaded element by element, with the same bits.
TEST_F(CudaAttention, FlashTakesOperandsAtAnyAddress) {
  const AttentionDims dims{.batch = 1, .seq_len = 70, .n_heads = 2, .n_kv_heads = 1, .head_dim = 24};
  for (const auto dtype : {DType::f32, DType::bf16}) {
    const Problem p(dtype, dims);
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
  const Problem p(DType::bf16, {.batch = 1, .seq_len = 2, .n_heads = 1, .n_kv_heads = 1, .head_dim = 264});
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
  const Problem p(DType::bf16, {.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8});
  const auto ops = make_ops(AttentionChoice::own);
  ops->use_workspace(workspace().reshaped(Shape{4}));
  EXPECT_THROW(ops->attention_backward(p.backward(AttentionKind::flash)), LogicFault);
  EXPECT_THROW(ops->attention_forward(p.forward(AttentionKind::dot_product)), LogicFault);
}

TEST_F(CudaAttention, AnAbsentLibraryIsAnErrorOnlyWhereItWasAskedFor) {
  if (!cudnn_versions().empty()) GTEST_SKIP() << "skipped: built with cuDNN";
  const Problem p(DType::bf16, {.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8});
  EXPECT_NO_THROW(make_ops(AttentionChoice::automatic)->attention_forward(p.forward(AttentionKind::flash)));
  EXPECT_THROW(make_ops(AttentionChoice::cudnn)->attention_forward(p.forward(AttentionKind::flash)), EngineError);
  wait();
}

// The library's kernels and our own read each other's logsumexp. Both multiply rounded weights: each errs by a unit of
// bf16 of the terms' magnitude, and by the rounding of its result.
TEST_F(CudaAttention, TheLibraryEqualsTheOwnKernels) {
  if (cudnn_versions().empty()) GTEST_SKIP() << "skipped: built without cuDNN";
  for (const std::int64_t head_dim : {64, 128}) {
    const AttentionDims dims{.batch = 2, .seq_len = 200, .n_heads = 4, .n_kv_heads = 2, .head_dim = head_dim};
    const Problem own(DType::bf16, dims);
    const Problem library(DType::bf16, dims);
    const auto own_ops = make_ops(AttentionChoice::own);
    const auto library_ops = make_ops(AttentionChoice::cudnn);
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
    alike(library.logsumexp, own.logsumexp, 0, "logsumexp");
    alike(library.context, own.context, largest(truth.context_magnitude), "context");
    alike(library.dquery, own.dquery, 4 * largest(gradient.dquery.magnitude), "dquery");
    alike(library.dkey, own.dkey, 4 * largest(gradient.dkey.magnitude), "dkey");
    alike(library.dvalue, own.dvalue, 4 * largest(gradient.dvalue.magnitude), "dvalue");
  }
}

}  // namespace
}  // namespace perfbench::engine::cuda
