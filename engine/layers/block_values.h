// The intermediates of one block of a layer that its backward pass reads, and where a policy keeps each one between the
// two passes. A block names its own in an enumeration `Value` whose last member is `count`.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "engine/sharding/context.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::engine {

// Records a value that the forward pass has made, if a list of them is wanted.
inline void note_intermediate(const Context& context, std::string_view value, const Tensor& tensor,
                              const std::string& layer, spec::SavePlace place) {
  if (context.intermediates == nullptr || !tensor.defined()) return;
  context.intermediates->note(value, tensor.entry(), layer, place);
}

template <class Value>
inline constexpr std::size_t kValues = static_cast<std::size_t>(Value::count);

template <class Value>
class BlockValues {
 public:
  Tensor& operator[](Value v) { return values_[static_cast<std::size_t>(v)]; }
  const Tensor& operator[](Value v) const { return values_[static_cast<std::size_t>(v)]; }
  bool has(Value v) const { return (*this)[v].defined(); }

 private:
  std::array<Tensor, kValues<Value>> values_;
};

// The values of one microbatch that a block keeps from its forward to its backward pass.
template <class Value>
class SavedValues {
 public:
  // Called once the forward pass no longer reads the value: keeps it, starts its copy to the host, or drops it.
  void put_away(Value name, Tensor&& value, spec::SavePlace place, const Context& context) {
    Tensor owned = std::move(value);
    if (!owned.defined() || place == spec::SavePlace::remat) return;
    if (place == spec::SavePlace::device) {
      device_[name] = std::move(owned);
      return;
    }
    const TensorView view = owned;
    Tensor host(context.memory,
                {owned.entry().name + std::string(spec::kOnHost), MemoryScope::host, view.dtype, view.shape});
    auto& moving = moving_[static_cast<std::size_t>(name)];
    moving.pending = context.ops.transfer(host, view);
    moving.device = std::move(owned);
    host_[name] = std::move(host);
  }

  // Waits for values on their way to the host and frees their device memory. Called one layer later, so that the
  // transfer runs beside that layer's computation.
  void finish_offload() {
    for (std::size_t i = 0; i < kValues<Value>; ++i) {
      moving_[i].pending.wait();
      moving_[i].device.reset();
      Tensor& host = host_[static_cast<Value>(i)];
      if (host.defined()) host.put_aside();
    }
  }

  // Starts to bring back the values on the host. Called one layer early, for the same reason.
  void begin_fetch(const Context& context) {
    for (std::size_t i = 0; i < kValues<Value>; ++i) {
      const Tensor& host = host_[static_cast<Value>(i)];
      if (!host.defined()) continue;
      const TensorView view = host;
      std::string name = host.entry().name;
      name.replace(name.size() - spec::kOnHost.size(), spec::kOnHost.size(), spec::kFetched);
      Tensor back(context.memory, {std::move(name), MemoryScope::activations, view.dtype, view.shape});
      moving_[i].pending = context.ops.transfer(back, view);
      moving_[i].device = std::move(back);
    }
  }

  // Orders all work enqueued from now on behind the transfers of begin_fetch.
  void finish_fetch() {
    for (auto& moving : moving_) moving.pending.wait();
  }

  // Returns everything that was kept, on the device. Dropped values stay undefined. Call it after finish_fetch.
  BlockValues<Value> take() {
    BlockValues<Value> values = std::exchange(device_, {});
    for (std::size_t i = 0; i < kValues<Value>; ++i) {
      const auto name = static_cast<Value>(i);
      if (!moving_[i].device.defined()) continue;
      values[name] = std::move(moving_[i].device);
      host_[name].reset();
    }
    return values;
  }

 private:
  // A transfer to or from this block's host copy. The order of the members matters: `pending` is destroyed first, and
  // waits.
  struct Moving {
    Tensor device;
    Pending pending;
  };

  BlockValues<Value> device_;
  BlockValues<Value> host_;
  std::array<Moving, kValues<Value>> moving_;
};

}  // namespace perfbench::engine
