// Built if CMake found no cuDNN or no front end of it.
#include "engine/ops/cuda/attention/attention_provider.h"

namespace perfbench::engine::cuda {

std::unique_ptr<AttentionProvider> make_cudnn_attention(const CudaDevice&, Summation) {
  return nullptr;
}

std::map<std::string, std::string> cudnn_versions() {
  return {};
}

}  // namespace perfbench::engine::cuda
