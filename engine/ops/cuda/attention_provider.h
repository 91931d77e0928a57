// Flash attention by a library, beside the backend's own kernels (attention_flash.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/core/cuda_device.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// Who computes flash attention. automatic: cuDNN where it is built in and takes the problem, else own. cudnn: a
// problem that it does not take is an error.
enum class AttentionChoice { automatic, own, cudnn };

class AttentionProvider {
 public:
  // Why a problem was not computed; a problem's first refusal is also written to stderr.
  using Refusal = std::optional<std::string>;

  virtual ~AttentionProvider() = default;
  // On the device's compute stream, with the same definition of logsumexp as ops.h, so that the directions may come
  // from different implementations. `scratch`: workspace::attention_backward_bytes of the problem.
  virtual Refusal forward(const AttentionForwardArgs& args, void* scratch) = 0;
  virtual Refusal backward(const AttentionBackwardArgs& args, void* scratch) = 0;
};

// same_bits: results depend on the operands alone. any_order: gradients may be added up in the order of their arrival.
enum class Summation { same_bits, any_order };

// cuDNN; nullptr: built without it.
std::unique_ptr<AttentionProvider> make_cudnn_attention(const CudaDevice& device, Summation summation);
// Library -> version; empty: built without it.
std::map<std::string, std::string> cudnn_versions();

}  // namespace perfbench::engine::cuda
