// This rank's chunks of the decoder, each forward and backward: the first of the model embeds, the last makes the loss.
// Or forward alone, where the last one scores.
// Units are gathered just before they are used, or beside what comes before them, and released just after.
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
  // `store` has the model's parameters; `experts` are added to by each microbatch.
  Decoder(Context& context, const spec::RunSpec& run, ParameterStore& store, const ExpertTotals& experts);

  // Losses are added to loss_sum (f64 [1]) on the way forward, gradients to the units' on the way back. With scores
  // there is no way back, and nothing is kept for it: they are added to instead.
  struct Microbatch {
    TensorView tokens_N;   // where the chunk embeds
    TensorView targets_N;  // where it has the head
    TensorView loss_sum;
    TensorView counted_targets = {};  // f64 [1], of the step, in a run that counts them
    TensorView scores_B3 = {};        // f64 (ScoreArgs); on ranks without the head, too
    TensorView first_N = {};          // where documents begin (ops.h), in a run that packs them
    std::int64_t first_token = 0;     // its first in the step's global batch
    bool scored() const { return scores_B3.defined(); }
  };
  // What waits between the two, of one chunk and microbatch.
  struct State {
    std::vector<LayerState> layers;
    Tensor dx_RM;  // from the loss
    // The way back begins with the layer that the way forward ended with: gathered once, it costs its memory meanwhile.
    LayerWeights last_layer;
  };
  // `chunk` counts from 0 among this rank's. Of several chunks and microbatches each has a state.
  std::size_t chunks() const { return chunks_.size(); }
  State new_state(std::size_t chunk) const;
  // The chunk's output from its input: the residual stream. The first chunk of the model takes tokens, the last one
  // returns nothing.
  Tensor forward(std::size_t chunk, const Microbatch& batch, Tensor x_RM, State& state);
  // The gradient by the input from that by the output, of which the last chunk takes none and the first returns none.
  Tensor backward(std::size_t chunk, const Microbatch& batch, Tensor dy_RM, State& state);
  // Room for an input, and for the gradient by an output, that come from elsewhere.
  Tensor new_input(std::size_t chunk) const;
  Tensor new_output_gradient(std::size_t chunk) const;

  // Before the microbatches of a step that trains, and after them.
  void begin_step(std::int64_t step);
  void end_step() {
    if (fp8_) fp8_->update();
  }

  // Adds this stage's adapters to the weights that they stand beside, and begins each b at 0 again: but for rounding
  // the model computes what it did, by its weights alone. Between steps, in a run that has adapters.
  void merge_adapters();

  UnitGatherer& gatherer() { return gatherer_; }
  // Null in another precision than fp8.
  Fp8Scales* fp8() { return fp8_ ? &*fp8_ : nullptr; }

 private:
  // Where each lies in its unit.
  struct Embedding {
    explicit Embedding(const UnitLayout& unit);

    ParameterPlace tokens;
    std::optional<ParameterPlace> positions;
  };
  struct Head {
    Head(const UnitLayout& unit, bool tied);

    Norm final_norm;
    std::optional<ParameterPlace> unembedding;  // nothing where it is the embedding
  };
  struct Chunk {
    ModelChunk part;
    std::vector<DecoderLayer> layers = {};
    // Of one layer after another, where layers are recorded: dense ones, and those with experts.
    struct Recorded {
      RecordedWork forward{RecordedWork::Operands::new_addresses};
      RecordedWork backward{RecordedWork::Operands::new_addresses};
      RecordedWork alone{RecordedWork::Operands::new_addresses};  // forward, without a way back
    };
    std::array<Recorded, 2> recorded = {};
    RecordedWork lowest_backward{RecordedWork::Operands::new_addresses};  // of one that ends before its input

    Recorded& recorded_like(const DecoderLayer& layer) { return recorded[layer.has_experts() ? 1 : 0]; }

    // By its number in the model.
    const DecoderLayer& layer(std::int64_t i) const { return layers[static_cast<std::size_t>(i - part.first_layer)]; }
    LayerState& state(std::int64_t i, State& of) const {
      return of.layers[static_cast<std::size_t>(i - part.first_layer)];
    }
    std::int64_t last_layer() const { return part.first_layer + part.layers - 1; }
  };

  // A tied embedding is the unembedding, too.
  struct HeadWeights {
    GatheredUnit head;
    GatheredUnit embedding;
  };
  // What was submitted before its turn on the way forward.
  struct Ahead {
    LayerWeights layer;
    HeadWeights head;
  };

  void take_keys(const Microbatch& batch);
  Tensor embed(const Chunk& chunk, const Microbatch& batch, Ahead& ahead);
  // The residual stream and its gradient, by this rank's rows.
  Tensor layers_forward(Chunk& chunk, const Microbatch& batch, Tensor x_RM, State& state, Ahead& ahead);
  // Gathered, now or before.
  HeadWeights ready(HeadWeights weights);
  ParameterPlace unembedding_place() const;
  void score(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights);
  Tensor loss(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights);
  Tensor layers_backward(Chunk& chunk, Tensor dx_RM, State& state);
  void embed_backward(const Microbatch& batch, const Tensor& dx_RM);
  Tensor stream(std::int64_t layer, const char* name) const;
  LayerUnits units_of(std::int64_t layer) const;
  LayerWeights gather_layer(std::int64_t layer);
  // A layer that was submitted before its turn, or is submitted now.
  LayerWeights take(LayerWeights& ahead, std::int64_t layer);
  LayerGradients open_gradients(std::int64_t layer);
  LastReader last_reader(std::int64_t layer) const;
  HeadWeights gather_head();
  // What has layer i's computation beside it on the way forward.
  void gather_after(const Chunk& chunk, std::int64_t i, Ahead& ahead);
  // What is done with a unit carries its name in a trace.
  RangeSpan range_of(std::size_t unit) { return {context_.trace, store_.unit(unit).layout.name}; }
  // scan on a device that records: one recording serves all layers of a kind in a chunk. What runs beside a layer then
  // begins and ends within it or outside of it.
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
  Tensor dropout_step_;  // in a run that drops
  std::optional<Fp8Scales> fp8_;
  LayerShared shared_;
  std::vector<Chunk> chunks_;
};

}  // namespace perfbench::engine
