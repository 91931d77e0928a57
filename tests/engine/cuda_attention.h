// An attention with all its operands, and the cuda backend to compute it (ops_cuda_attention*_test.cpp).
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "engine/cuda/cuda_memory.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/operand.h"

namespace perfbench::engine::cuda {

struct AttentionProblem {
  AttentionProblem(DType dtype, const AttentionDims& dims_in)
      : dims(dims_in),
        query(oracle::random_operand(dtype, rows(dims.n_heads), 1)),
        key(oracle::random_operand(dtype, rows(dims.n_kv_heads), 2)),
        value(oracle::random_operand(dtype, rows(dims.n_kv_heads), 3)),
        dcontext(oracle::random_operand(dtype, rows(dims.n_heads), 4)),
        context(dtype, rows(dims.n_heads)),
        logsumexp(DType::f32, Shape{dims.batch, dims.n_heads, dims.seq_len}),
        weights(dtype, scores()),
        dweights(dtype, scores()),
        dquery(dtype, rows(dims.n_heads)),
        dkey(dtype, rows(dims.n_kv_heads)),
        dvalue(dtype, rows(dims.n_kv_heads)) {}

  Shape rows(std::int64_t heads) const { return {dims.batch * dims.seq_len, heads * dims.head_dim}; }
  Shape scores() const { return {dims.batch, dims.n_heads, dims.seq_len, dims.seq_len}; }

  AttentionForwardArgs forward(spec::AttentionKind kind) const {
    return {.context = context,
            .logsumexp_BHT = logsumexp,
            .weights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : weights.view(),
            .query = query,
            .key = key,
            .value = value,
            .dims = dims,
            .kind = kind};
  }
  AttentionBackwardArgs backward(spec::AttentionKind kind) const {
    return {.dquery = dquery,
            .dkey = dkey,
            .dvalue = dvalue,
            .dcontext = dcontext,
            .query = query,
            .key = key,
            .value = value,
            .context = context,
            .logsumexp_BHT = logsumexp,
            .weights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : weights.view(),
            .dweights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : dweights.view(),
            .dims = dims,
            .kind = kind};
  }

  AttentionDims dims;
  oracle::Operand query, key, value, dcontext;
  oracle::Operand context, logsumexp, weights, dweights, dquery, dkey, dvalue;
};

class CudaAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_ops(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
    device_ = std::make_unique<CudaDevice>(0);
    make_workspace(std::int64_t{64} << 20);
  }

  void make_workspace(std::int64_t bytes) {
    memory_ = make_cuda_backing(*device_, bytes);
    workspace_ = {memory_->at(0, bytes), DType::f32, Shape{bytes / size_bytes(DType::f32)}};
  }

  std::unique_ptr<CudaOps> make_ops(AttentionChoice choice) const {
    return make_ops(CudaOpsOptions{.precision = spec::Precision::bf16, .attention = choice});
  }
  std::unique_ptr<CudaOps> make_ops(const CudaOpsOptions& options) const {
    auto ops = std::make_unique<CudaOps>(*device_, options);
    ops->use_workspace(workspace());
    return ops;
  }
  TensorView workspace() const { return workspace_; }
  void wait() const { device_->synchronize(); }

  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<ArenaBacking> memory_;
  TensorView workspace_;
};

}  // namespace perfbench::engine::cuda
