// This rank's chunks of the decoder, forward and backward. The model's first chunk embeds, the last one computes the
// loss. A forward pass alone ends with scores. Units are gathered just before their use, or during the previous
// computation, and released just after.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/layers/decoder_layer.h"
#include "engine/layers/fp8_scales.h"
#include "engine/sharding/recorded_work.h"
#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

class Decoder {
 public:
  // `store` has the model's parameters; each microbatch adds to `experts`.
  Decoder(Context& context, const spec::RunSpec& run, ParameterStore& store, const ExpertTotals& experts);

  // The forward pass adds losses to loss_sum (f64 [1]), the backward pass adds gradients to those of the units. If
  // scores are wanted there is no backward pass: nothing is kept for it, and the forward pass adds to the scores
  // instead.
  struct Microbatch {
    TensorView tokens_N;   // for a chunk that embeds
    TensorView targets_N;  // for a chunk with the head
    TensorView loss_sum;
    TensorView counted_targets = {};  // f64 [1], over the step, in a run that counts targets
    TensorView scores_B3 = {};        // f64 (ScoreArgs); also on ranks without the head
    TensorView first_N = {};          // where documents begin (ops.h), in a run that packs them
    std::int64_t first_token = 0;     // index of its first token in the step's global batch
    bool scored() const { return scores_B3.defined(); }
  };
  // Values that one chunk and microbatch keep between their forward and backward pass.
  struct State {
    std::vector<LayerState> layers;
    Tensor dx_RM;  // from the loss
    // The backward pass begins with the layer that the forward pass ended with, so this layer is gathered once. It
    // takes memory meanwhile.
    LayerWeights last_layer;
  };
  // `chunk` counts from 0 among this rank's chunks. Each pair of chunk and microbatch has a state.
  std::size_t chunks() const { return chunks_.size(); }
  State new_state(std::size_t chunk) const;
  // Returns the chunk's output, the residual stream, for its input. The model's first chunk takes tokens; the last one
  // returns nothing.
  Tensor forward(std::size_t chunk, const Microbatch& batch, Tensor x_RM, State& state);
  // Returns the gradient of the input for that of the output. The last chunk takes no gradient and the first returns
  // none.
  Tensor backward(std::size_t chunk, const Microbatch& batch, Tensor dy_RM, State& state);
  // Buffers for an input and for a gradient of an output that come from another stage.
  Tensor new_input(std::size_t chunk) const;
  Tensor new_output_gradient(std::size_t chunk) const;

  // Called before and after the microbatches of a training step.
  void begin_step(std::int64_t step);
  void end_step() {
    if (fp8_) fp8_->update();
  }

  // Adds this stage's adapters to the weights that they belong to and resets each b to 0. Apart from rounding, the
  // model computes the same as before, now by its weights alone. Only between steps, in a run that has adapters.
  void merge_adapters();

  UnitGatherer& gatherer() { return gatherer_; }
  // Null in a precision other than fp8.
  Fp8Scales* fp8() { return fp8_ ? &*fp8_ : nullptr; }

 private:
  // Where each parameter lies in its unit.
  struct Embedding {
    explicit Embedding(const UnitLayout& unit);

    ParameterPlace tokens;
    std::optional<ParameterPlace> positions;
  };
  struct Head {
    Head(const UnitLayout& unit, bool tied);

    Norm final_norm;
    std::optional<ParameterPlace> unembedding;  // absent if it is the embedding
  };
  struct Chunk {
    ModelChunk part;
    std::vector<DecoderLayer> layers = {};
    // The recordings that layers share: one for the dense layers, one for those with experts.
    struct Recorded {
      RecordedWork forward{RecordedWork::Operands::new_addresses};
      RecordedWork backward{RecordedWork::Operands::new_addresses};
      RecordedWork alone{RecordedWork::Operands::new_addresses};  // forward, with no backward pass to follow
    };
    std::array<Recorded, 2> recorded = {};
    // of the layer whose backward pass ends before its input
    RecordedWork lowest_backward{RecordedWork::Operands::new_addresses};

    Recorded& recorded_like(const DecoderLayer& layer) { return recorded[layer.has_experts() ? 1 : 0]; }

    // The layer with that number in the model.
    const DecoderLayer& layer(std::int64_t i) const { return layers[static_cast<std::size_t>(i - part.first_layer)]; }
    LayerState& state(std::int64_t i, State& of) const {
      return of.layers[static_cast<std::size_t>(i - part.first_layer)];
    }
    std::int64_t last_layer() const { return part.first_layer + part.layers - 1; }
  };

  // With tied embeddings, the embedding is also the unembedding.
  struct HeadWeights {
    GatheredUnit head;
    GatheredUnit embedding;
  };
  // Work that the forward pass has submitted before its turn.
  struct Ahead {
    LayerWeights layer;
    HeadWeights head;
  };

  void take_keys(const Microbatch& batch);
  Tensor embed(const Chunk& chunk, const Microbatch& batch, Ahead& ahead);
  // The residual stream and its gradient; each rank has its own rows.
  Tensor layers_forward(Chunk& chunk, const Microbatch& batch, Tensor x_RM, State& state, Ahead& ahead);
  // Waits until they are gathered.
  HeadWeights ready(HeadWeights weights);
  ParameterPlace unembedding_place() const;
  void score(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights);
  Tensor loss(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights);
  Tensor layers_backward(Chunk& chunk, Tensor dx_RM, State& state);
  void embed_backward(const Microbatch& batch, const Tensor& dx_RM);
  Tensor stream(std::int64_t layer, const char* name) const;
  LayerUnits units_of(std::int64_t layer) const;
  LayerWeights gather_layer(std::int64_t layer);
  // The weights of a layer, submitted now unless they were submitted earlier.
  LayerWeights take(LayerWeights& ahead, std::int64_t layer);
  LayerGradients open_gradients(std::int64_t layer);
  LastReader last_reader(std::int64_t layer) const;
  HeadWeights gather_head();
  // Submits what runs beside the computation of layer i in the forward pass.
  void gather_after(const Chunk& chunk, std::int64_t i, Ahead& ahead);
  // In a trace, work on a unit carries the unit's name.
  RangeSpan range_of(std::size_t unit) { return {context_.trace, store_.unit(unit).layout.name}; }
  // Whether one recording serves all layers of a kind in a chunk: with scan, on a device that records. Work beside a
  // layer then begins and ends within the layer or outside of it.
  bool records_layers() const;
  void run_layer(RecordedWork& recording, const std::function<void()>& body);
  bool prefetches() const;

  Context& context_;
  const spec::RunSpec& run_;
  ParameterStore& store_;
  UnitGatherer gatherer_;
  std::optional<Embedding> embedding_;
  std::optional<Head> head_;
  Tensor rope_cos_sin_TD_;
  Tensor distance_buckets_T_;
  Tensor dropout_step_;  // in a run with dropout
  std::optional<Fp8Scales> fp8_;
  LayerShared shared_;
  std::vector<Chunk> chunks_;
};

}  // namespace perfbench::engine
