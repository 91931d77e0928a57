// The cuda backend: every do_* function is in the file with its name. Storage is f32 or bf16, arithmetic f32. The
// shapes fix the order of reductions. All work goes to the device's compute stream.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/cuda_device.h"
#include "engine/ops/cuda/attention/attention_provider.h"
#include "engine/ops/cuda/host/host_mailbox.h"
#include "engine/ops/cuda/host/recordings.h"
#include "engine/ops/cuda/host/upload_staging.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

// The versions of the libraries used, for the record of a run: library -> version ("cublaslt" -> "13.1.0"), and what
// computes "matmul" and "attention": a library, or "own".
std::map<std::string, std::string> cuda_library_versions();

namespace cuda {

class MatmulProvider;
struct ProductScratch;
struct DotProductTools;

struct CudaOpsOptions {
  spec::Precision precision = spec::Precision::fp32;  // fp32 and tf32 differ in the products of f32 operands
  spec::Fp8Accumulation fp8_accumulation = spec::Fp8Accumulation::full;
  Summation summation = Summation::same_bits;  // of libraries; our own kernels always give the same bits
  AttentionChoice attention = AttentionChoice::automatic;
  MakeAttentionProvider attention_provider = make_cudnn_attention;
  AttentionPartLimits attention_parts = {};  // the limits that workspace.h plans for, unless a test uses smaller parts
};

class CudaOps final : public Ops {
 public:
  CudaOps(const CudaDevice& device, const CudaOpsOptions& options);
  ~CudaOps() override;

  void synchronize() override { device_.synchronize(); }
  bool emulates(spec::Precision precision) const override;
  std::vector<spec::AttentionKernel> attention_kernels() const override;
  void use_workspace(TensorView workspace) override { workspace_ = workspace; }
  bool records() const override { return true; }
  void begin_recording() override { recorder_.begin(); }
  std::unique_ptr<Recording> end_recording(std::unique_ptr<Recording> earlier) override {
    return recorder_.end(std::move(earlier));
  }

 private:
#define PERFBENCH_OVERRIDE(name, arguments) void do_##name arguments override;
  PERFBENCH_OPERATIONS(PERFBENCH_OVERRIDE)
#undef PERFBENCH_OVERRIDE
  std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) override;
  void do_read_f64(std::span<double> to, TensorView values) override;

  MatmulArgs rows_along_k(const MatmulArgs& args);
  void multiply(const MatmulArgs& args, const ProductScratch& scratch);
  // c[m, n] += bias[n]; c f32, bias f32 or bf16.
  void add_bias(RowsView c, TensorView bias_n);
  // Rounds f32 to the type of `out`.
  void round_rows(RowsView out, TensorView in);
  // d *= gelu'(preactivation), in its tanh form.
  void multiply_by_gelu_slope(TensorView d, TensorView preactivation);

  // `bytes` of the workspace, for one operation. Throws LogicFault if the plan (engine/ops/workspace.h) holds less.
  void* workspace(std::int64_t bytes, std::string_view op) const;
  cudaStream_t stream() const {
    return device_.compute();
  }
  DotProductTools dot_product_tools(const AttentionDims& dims);
  template <class Args>
  AttentionProvider::Refusal by_provider(Direction direction, const Args& args) const;
  template <class Args>
  bool by_library(Direction direction, const Args& args);
  void note_attention(Direction direction, const AttentionProvider::Refusal& refusal);

  const CudaDevice& device_;
  GraphRecorder recorder_;
  spec::Fp8Accumulation fp8_accumulation_;
  Summation summation_;
  AttentionChoice attention_choice_;
  AttentionPartLimits attention_parts_;
  TensorView workspace_;
  UploadStaging staging_;
  HostMailbox mailbox_;
  std::unique_ptr<MatmulProvider> matmul_;
  std::unique_ptr<AttentionProvider> attention_;
  std::map<Direction, AttentionProvider::Refusal> attention_noted_;  // by direction, the first refusal if there was one
};

std::unique_ptr<Ops> make_cuda_ops(const CudaDevice& device, const CudaOpsOptions& options);

}  // namespace cuda
}  // namespace perfbench::engine
