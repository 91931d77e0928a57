// The cuda backend for tests of attention (ops_cuda_attention*_test.cpp).
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "engine/ops/cuda/cuda_ops.h"
#include "tests/engine/attention_problem.h"
#include "tests/engine/ops_under_test.h"

namespace perfbench::engine::cuda {

class CudaAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_ops(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
    device_ = std::make_unique<CudaDevice>(0);
    make_workspace(std::int64_t{64} << 20);
  }

  // Allocated in memory that the host can access too.
  void make_workspace(std::int64_t bytes) {
    memory_ = {allocate_operand(static_cast<std::size_t>(bytes)), free_operand};
    workspace_ = {memory_.get(), DType::f32, Shape{bytes / size_bytes(DType::f32)}};
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
  std::unique_ptr<void, void (*)(void*)> memory_{nullptr, free_operand};
  TensorView workspace_;
};

}  // namespace perfbench::engine::cuda
