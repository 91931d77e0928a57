#include "engine/remat/layer_values.h"

namespace perfbench::engine {

spec::Saved saved_name(LayerTensor tensor, spec::Activation activation) {
  using spec::Saved;
  switch (tensor) {
    case LayerTensor::layer_input:
      return Saved::layer_input;
    case LayerTensor::attention_statistics:
    case LayerTensor::mlp_statistics:
      return Saved::norm_statistics;
    case LayerTensor::query:
      return Saved::query_proj;
    case LayerTensor::key:
      return Saved::key_proj;
    case LayerTensor::value:
      return Saved::value_proj;
    case LayerTensor::attention_weights:
      return Saved::attention_weights;
    case LayerTensor::context:
    case LayerTensor::logsumexp:
      return Saved::context;
    case LayerTensor::residual:
      return Saved::out_proj;
    case LayerTensor::gate:
      return Saved::mlpwi_0;
    // The only input projection of an un-gated block is the policies' first.
    case LayerTensor::up:
      return spec::is_gated(activation) ? Saved::mlpwi_1 : Saved::mlpwi_0;
  }
  return Saved::layer_input;
}

void SavedLayer::put_away(LayerTensor tensor, Tensor&& value, spec::SavePlace place, const Context& context,
                          const std::string& name) {
  Tensor owned = std::move(value);
  if (!owned.defined() || place == spec::SavePlace::remat) return;
  if (place == spec::SavePlace::device) {
    device_[tensor] = std::move(owned);
    return;
  }
  const TensorView view = owned;
  Tensor host(context.memory, {name + ".host", MemoryScope::host, view.dtype, view.shape});
  auto& moving = moving_[static_cast<std::size_t>(tensor)];
  moving.pending = context.ops.transfer(host, view);
  moving.device = std::move(owned);
  host_[tensor] = std::move(host);
}

void SavedLayer::finish_offload() {
  for (auto& moving : moving_) {
    moving.pending.wait();
    moving.device.reset();
  }
}

void SavedLayer::begin_fetch(const Context& context, const std::string& layer_name) {
  for (std::size_t i = 0; i < kLayerTensors; ++i) {
    const Tensor& host = host_[static_cast<LayerTensor>(i)];
    if (!host.defined()) continue;
    const TensorView view = host;
    Tensor back(context.memory, {layer_name + ".fetched", MemoryScope::activations, view.dtype, view.shape});
    moving_[i].pending = context.ops.transfer(back, view);
    moving_[i].device = std::move(back);
  }
}

void SavedLayer::finish_fetch() {
  for (auto& moving : moving_) moving.pending.wait();
}

LayerValues SavedLayer::take() {
  LayerValues values = std::move(device_);
  device_ = LayerValues();
  for (std::size_t i = 0; i < kLayerTensors; ++i) {
    const auto tensor = static_cast<LayerTensor>(i);
    if (!moving_[i].device.defined()) continue;
    values[tensor] = std::move(moving_[i].device);
    host_[tensor].reset();
  }
  return values;
}

}  // namespace perfbench::engine
