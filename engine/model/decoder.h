// The decoder as a schedule: embed, layers forward, loss, layers backward, embedding backward; units gathered just
// before they are used and released just after.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/layers/decoder_layer.h"
#include "engine/sharding/recorded_work.h"
#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

class Decoder {
 public:
  // `store` has the model's parameters.
  Decoder(Context& context, const spec::RunSpec& run, ParameterStore& store);

  // One microbatch: losses are added to loss_sum (f64 [1]) on the way forward, gradients to the units' on the way back.
  struct Microbatch {
    TensorView tokens_N;
    TensorView targets_N;
    TensorView loss_sum;
    std::int64_t index = 0;
    UnitGatherer::Microbatch kind = UnitGatherer::Microbatch::last;
  };
  // What waits between the two.
  struct State {
    std::vector<LayerState> layers;
    Tensor dx_RM;  // from the loss
  };
  State new_state() const { return {.layers = std::vector<LayerState>(layers_.size()), .dx_RM = {}}; }
  void forward(const Microbatch& batch, State& state);
  void backward(const Microbatch& batch, State& state);

  UnitGatherer& gatherer() { return gatherer_; }

 private:
  // Where each lies in its unit: the embedding's, and the head's.
  struct Outer {
    Outer(ParameterStore& store, bool tied);

    ParameterPlace token_embedding;
    std::optional<ParameterPlace> position_embedding;
    Norm final_norm;
    ParameterPlace unembedding;  // tied: of the embedding's unit
  };

  Tensor embed(const Microbatch& batch);
  // The residual stream and its gradient, by this rank's rows.
  Tensor layers_forward(Tensor x_RM, State& state);
  Tensor loss(const Microbatch& batch, const Tensor& x_RM);
  Tensor layers_backward(Tensor dx_RM, State& state);
  void embed_backward(const Microbatch& batch, const Tensor& dx_RM);
  // What is done with a unit carries its name in a trace.
  RangeSpan range_of(std::size_t unit) { return {context_.trace, store_.unit(unit).layout.name}; }
  const DecoderLayer& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  // scan on a device that records: one recording serves all layers. What runs beside a layer then begins and ends
  // within it or outside of it.
  bool records_layers() const { return run_.scan && run_.device_graphs && run_.device == spec::Device::cuda; }
  void run_layer(RecordedWork& recording, const std::function<void()>& body);
  bool prefetches() const { return run_.fsdp_prefetch > 0; }

  Context& context_;
  const spec::RunSpec& run_;
  ParameterStore& store_;
  UnitGatherer gatherer_;
  const Outer outer_;
  RecordedWork layer_forward_{RecordingSlot::layer_forward, RecordedWork::Operands::new_addresses};
  RecordedWork layer_backward_{RecordingSlot::layer_backward, RecordedWork::Operands::new_addresses};
  Tensor rope_cos_sin_TD_;
  LayerShared shared_;
  std::vector<DecoderLayer> layers_;
};

}  // namespace perfbench::engine
