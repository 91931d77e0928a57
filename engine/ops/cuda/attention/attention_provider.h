// Flash attention by a library, beside the backend's own kernels (attention_flash.h).
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

// Computes in bf16, with the same definition of logsumexp as ops.h, so that the directions may come from different
// implementations.
class AttentionProvider {
 public:
  // Why problems of a layout are not computed.
  using Refusal = std::optional<std::string>;

  virtual ~AttentionProvider() = default;
  // Once for a layout; afterwards it only answers.
  virtual Refusal prepare(Direction direction, const AttentionLayout& layout, std::int64_t scratch_bytes) = 0;
  // What was prepared, on the device's compute stream. `scratch`: as many bytes as were said then.
  virtual void compute(Direction direction, const AttentionLayout& layout, const AttentionAddresses& addresses,
                       void* scratch) = 0;
};

using MakeAttentionProvider =
    std::function<std::unique_ptr<AttentionProvider>(const CudaDevice& device, Summation summation)>;

// cuDNN; nullptr: built without it.
std::unique_ptr<AttentionProvider> make_cudnn_attention(const CudaDevice& device, Summation summation);
// Library -> version; empty: built without it.
std::map<std::string, std::string> cudnn_versions();

}  // namespace perfbench::engine::cuda
