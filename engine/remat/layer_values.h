// The intermediates of one layer that backward reads, and what a policy does with each between the two passes.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "engine/sharding/context.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::engine {

// One tensor each. Several may share a name of the policies: both norms' statistics are `norm_statistics`, the rows'
// logsumexp goes with `context`.
enum class LayerTensor {
  layer_input,           // x [N, M]
  attention_statistics,  // [1 or 2, N]
  query,                 // [N, H*D], after RoPE
  key,                   // [N, K*D], after RoPE
  value,                 // [N, K*D]
  attention_weights,     // [B, H, T, T], dot_product only
  context,               // [N, H*D]
  logsumexp,             // [B, H, T]
  residual,              // layer_input + output projection [N, M]
  mlp_statistics,        // [1 or 2, N]
  gate,                  // [N, F], gated kinds only
  up,                    // [N, F]
};
inline constexpr std::size_t kLayerTensors = 12;

// Which name of the policies decides about a tensor.
spec::Saved saved_name(LayerTensor tensor, spec::Activation activation);

class LayerValues {
 public:
  Tensor& operator[](LayerTensor t) { return values_[static_cast<std::size_t>(t)]; }
  const Tensor& operator[](LayerTensor t) const { return values_[static_cast<std::size_t>(t)]; }
  bool has(LayerTensor t) const { return (*this)[t].defined(); }

 private:
  std::array<Tensor, kLayerTensors> values_;
};

// Keeps a layer's values from its forward to its backward pass.
class SavedLayer {
 public:
  // The value is no longer read by the forward pass: held, on its way to the host, or dropped.
  void put_away(LayerTensor tensor, Tensor&& value, spec::SavePlace place, const Context& context,
                const std::string& name);
  // Waits for what is on its way to the host and gives its device memory back. A layer later, so that the transfer runs
  // beside that layer's computation.
  void finish_offload();
  // Starts to bring back what is on the host. A layer early, for the same reason.
  void begin_fetch(const Context& context, const std::string& layer_name);
  // What is enqueued from now on follows the transfers of begin_fetch.
  void finish_fetch();
  // Everything that was kept, on the device. What was dropped stays undefined. After finish_fetch.
  LayerValues take();

 private:
  // Goes in or out of this layer's host copy. The order matters: who waits goes first.
  struct Moving {
    Tensor device;
    Pending pending;
  };

  LayerValues device_;
  LayerValues host_;
  std::array<Moving, kLayerTensors> moving_;
};

}  // namespace perfbench::engine
