// Flash attention by a library, as an alternative to the backend's own kernels (attention_flash.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/ops/cuda/attention/attention_layout.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::engine::cuda {

using spec::AttentionChoice;

// Computes in bf16, with the same definition of logsumexp as ops.h, so that both directions may use different
// implementations.
class AttentionProvider {
 public:
  // The reason why problems of a layout are not computed; absent if they are.
  using Refusal = std::optional<std::string>;

  virtual ~AttentionProvider() = default;
  // Called once for a layout; later calls only return the answer.
  virtual Refusal prepare(Direction direction, const AttentionLayout& layout, std::int64_t scratch_bytes) = 0;
  // Computes what was prepared, on the device's compute stream. `scratch` has the bytes given to prepare.
  virtual void compute(Direction direction, const AttentionLayout& layout, const AttentionAddresses& addresses,
                       void* scratch) = 0;
};

using MakeAttentionProvider =
    std::function<std::unique_ptr<AttentionProvider>(const CudaDevice& device, Summation summation)>;

// cuDNN; nullptr if it is not built in.
std::unique_ptr<AttentionProvider> make_cudnn_attention(const CudaDevice& device, Summation summation);
// Library -> version; empty if it is not built in.
std::map<std::string, std::string> cudnn_versions();

}  // namespace perfbench::engine::cuda
