#include "engine/ops/cuda/cuda_ops.h"

#include "engine/core/error.h"
#include "engine/ops/cuda/matmul/matmul_provider.h"

namespace perfbench::engine {

std::map<std::string, std::string> cuda_library_versions() {
  auto versions = cuda::cudnn_versions();
  versions["attention"] = versions.empty() ? "own" : "cudnn";
  versions["cublaslt"] = cuda::MatmulProvider::version();
  versions["matmul"] = "cublaslt";
  versions["cuda"] = cuda_toolkit_version();
  return versions;
}

namespace cuda {

CudaOps::CudaOps(const CudaDevice& device, const CudaOpsOptions& options)
    : device_(device),
      recorder_(device.compute()),
      fp8_accumulation_(options.fp8_accumulation),
      summation_(options.summation),
      attention_choice_(options.attention),
      attention_parts_(options.attention_parts),
      matmul_(std::make_unique<MatmulProvider>(
          device, options.precision == spec::Precision::tf32 ? F32Products::tf32 : F32Products::exact)),
      attention_(options.attention == AttentionChoice::own ? nullptr
                                                           : options.attention_provider(device, options.summation)) {}

CudaOps::~CudaOps() = default;

bool CudaOps::emulates(spec::Precision precision) const {
  // Tensor cores support tf32 and bf16 from compute capability 8.0 on, the oldest that this is built for, and fp8 from
  // 8.9 on. Older chips cannot run fp8 at all (cuda_backend.cpp).
  const auto& properties = device_.properties();
  return precision == spec::Precision::fp8 && properties.major * 10 + properties.minor < 89;
}

void* CudaOps::workspace(std::int64_t bytes, std::string_view op) const {
  if (workspace_.data == nullptr || workspace_.bytes() < bytes) {
    throw LogicFault(std::string(op) + ": needs " + std::to_string(bytes) + " bytes of workspace, has " +
                     std::to_string(workspace_.data == nullptr ? 0 : workspace_.bytes()));
  }
  return workspace_.data;
}

std::unique_ptr<Ops> make_cuda_ops(const CudaDevice& device, const CudaOpsOptions& options) {
  return std::make_unique<CudaOps>(device, options);
}

}  // namespace cuda
}  // namespace perfbench::engine
