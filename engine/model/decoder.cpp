#include "engine/model/decoder.h"

#include <string>
#include <utility>

#include "engine/layers/adapter.h"
#include "engine/layers/dropout.h"
#include "engine/layers/loss_head.h"
#include "engine/layers/one_hot_embedding.h"
#include "engine/model/distance_buckets.h"
#include "engine/model/rope_table.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

Tensor make_rope_table(Context& context, const spec::RunSpec& run) {
  if (run.model.position.kind != spec::PositionKind::rope) return {};
  const Shape shape{run.seq_len, run.model.head_dim};
  Tensor table(context.memory, {"rope_cos_sin", MemoryScope::weights, DType::f32, shape});
  if (table.view().data == nullptr) return table;  // a dry walk needs no angles
  const auto values = rope_table(run.model.position, run.seq_len, run.model.head_dim);
  context.ops.upload(table, values.data());
  return table;
}

Tensor make_distance_buckets(Context& context, const spec::RunSpec& run) {
  if (run.model.position.kind != spec::PositionKind::t5_relative_bias) return {};
  Tensor table(context.memory, {"distance_buckets", MemoryScope::weights, DType::i32, Shape{run.seq_len}});
  if (table.view().data == nullptr) return table;
  const auto values = distance_buckets(run.model.position, run.seq_len);
  context.ops.upload(table, values.data());
  return table;
}

Tensor make_dropout_step(Context& context, const spec::RunSpec& run) {
  if (!run.dropout.used()) return {};
  return Tensor(context.memory, {"dropout_step", MemoryScope::workspace, DType::i32, Shape{1}});
}

// A forward pass without a backward pass discards the values that it would keep.
class KeepingNothing {
 public:
  KeepingNothing(LayerShared& shared, bool nothing) : shared_(shared), places_(shared.remat) {
    if (!nothing) return;
    for (const auto& [name, text] : spec::EnumNames<spec::Saved>::kNames) shared_.remat[name] = spec::SavePlace::remat;
  }
  ~KeepingNothing() { shared_.remat = places_; }
  KeepingNothing(const KeepingNothing&) = delete;
  KeepingNothing& operator=(const KeepingNothing&) = delete;

 private:
  LayerShared& shared_;
  spec::RematPlan places_;
};

std::vector<const UnitLayout*> layers_of(ParameterStore& store) {
  std::vector<const UnitLayout*> layers;
  for (const auto& part : store.chunks()) {
    for (std::int64_t i = 0; i < part.layers; ++i) {
      layers.push_back(&store.unit(store.layer(part.first_layer + i)).layout);
    }
  }
  return layers;
}

TokenRange tokens_of_rank(const spec::ModelSpec& model, const Mesh& mesh) {
  const auto part = dim_part(model.vocab_size, mesh.size(Axis::tp), mesh.index(Axis::tp));
  return {.first = part.begin, .all = model.vocab_size};
}

}  // namespace

Decoder::Embedding::Embedding(const UnitLayout& unit)
    : tokens(unit.place("token_embedding")), positions(unit.place_if_any("position_embedding")) {
  unit.require_found(positions ? 2 : 1);
}

Decoder::Head::Head(const UnitLayout& unit, bool tied) : final_norm(unit, "final_norm") {
  if (!tied) unembedding = unit.place("unembedding");
  unit.require_found(final_norm.parameters() + (tied ? 0 : 1));
}

Decoder::Decoder(Context& context, const spec::RunSpec& run, ParameterStore& store, const ExpertTotals& experts)
    : context_(context),
      run_(run),
      store_(store),
      gatherer_(context, store,
                {.cast = {.rounding = run.rounding, .seed = static_cast<std::uint64_t>(run.seed)},
                 .overlap = prefetches() ? ReductionOverlap::next_unit : ReductionOverlap::none,
                 .microbatches = run.grad_accum,
                 .all_reduce_bytes = run.all_reduce_combine_bytes}),
      rope_cos_sin_TD_(make_rope_table(context, run)),
      distance_buckets_T_(make_distance_buckets(context, run)),
      dropout_step_(make_dropout_step(context, run)),
      shared_{context,
              run,
              spec::resolve_remat(run),
              rope_cos_sin_TD_.view(),
              distance_buckets_T_.view(),
              TensorParallel(context, run.microbatch() * run.seq_len, run.model.d_model),
              tokens_of_rank(run.model, context.collectives.mesh()),
              experts} {
  if (store.has_embedding()) embedding_.emplace(store.unit(store.embedding()).layout);
  if (store.has_head()) head_.emplace(store.unit(store.head()).layout, run.model.tied_embedding);
  if (run.precision == spec::Precision::fp8) fp8_.emplace(context, run, layers_of(store));
  for (const auto& part : store.chunks()) {
    chunks_.push_back({.part = part});
    Chunk& chunk = chunks_.back();
    for (std::int64_t i = part.first_layer; i <= chunk.last_layer(); ++i) {
      chunk.layers.emplace_back(shared_, units_of(i));
    }
  }
}

Decoder::State Decoder::new_state(std::size_t chunk) const {
  return {.layers = std::vector<LayerState>(chunks_[chunk].layers.size()), .dx_RM = {}, .last_layer = {}};
}

Tensor Decoder::stream(std::int64_t layer, const char* name) const {
  return context_.activation("layers." + std::to_string(layer) + "." + name,
                             Shape{shared_.tensor_parallel.rows(), run_.model.d_model});
}

Tensor Decoder::new_input(std::size_t chunk) const {
  return stream(chunks_[chunk].part.first_layer, "layer_input");
}

Tensor Decoder::new_output_gradient(std::size_t chunk) const {
  return stream(chunks_[chunk].last_layer(), "dlayer_output");
}

void Decoder::begin_step(std::int64_t step) {
  gatherer_.begin_step(step);
  if (!dropout_step_.defined()) return;
  const auto number = static_cast<std::int32_t>(step);
  context_.ops.upload(dropout_step_, &number);
}

void Decoder::merge_adapters() {
  // With stochastic rounding of weights: the draw that evaluations use.
  gatherer_.begin_step(0);
  for (const auto& chunk : chunks_) {
    for (std::int64_t i = chunk.part.first_layer; i <= chunk.last_layer(); ++i) {
      LayerWeights weights = gather_layer(i);
      weights.wait(context_.clock);
      engine::merge_adapters(context_, units_of(i), weights);
      gatherer_.put_back(store_.layer(i), weights.layer);
      store_.clear(context_, store_.adapters(i).value(), spec::ParameterKind::adapter_b);
    }
  }
}

// A batch that is scored has no dropout.
void Decoder::take_keys(const Microbatch& batch) {
  shared_.first_N = batch.first_N;
  shared_.dropout = {.step = batch.scored() ? TensorView{} : dropout_step_.view(), .first_token = batch.first_token};
}

Tensor Decoder::forward(std::size_t index, const Microbatch& batch, Tensor x_RM, State& state) {
  PhaseClock::Scope forward(context_.clock, Phase::forward);
  Chunk& chunk = chunks_[index];
  take_keys(batch);
  Ahead ahead;
  if (chunk.part.embeds) x_RM = embed(chunk, batch, ahead);
  x_RM = layers_forward(chunk, batch, std::move(x_RM), state, ahead);
  if (!chunk.part.has_head) return x_RM;
  if (batch.scored()) {
    score(batch, x_RM, std::move(ahead.head));
  } else {
    state.dx_RM = loss(batch, x_RM, std::move(ahead.head));
  }
  return {};
}

Tensor Decoder::backward(std::size_t index, const Microbatch& batch, Tensor dy_RM, State& state) {
  PhaseClock::Scope backward(context_.clock, Phase::backward);
  Chunk& chunk = chunks_[index];
  take_keys(batch);
  if (chunk.part.has_head) dy_RM = std::move(state.dx_RM);
  Tensor dx_RM = layers_backward(chunk, std::move(dy_RM), state);
  if (!chunk.part.embeds) return dx_RM;
  if (store_.unit(store_.embedding()).layout.trains) embed_backward(batch, dx_RM);
  return {};
}

bool Decoder::records_layers() const {
  return run_.scan && run_.device_graphs && run_.device == spec::Device::cuda;
}

bool Decoder::prefetches() const {
  return run_.fsdp_prefetch > 0 && context_.collectives.mesh().size(Axis::fsdp) > 1;
}

void Decoder::run_layer(RecordedWork& recording, const std::function<void()>& body) {
  if (records_layers()) {
    recording.run(context_, body);
  } else {
    body();
  }
}

LayerUnits Decoder::units_of(std::int64_t layer) const {
  const auto adapters = store_.adapters(layer);
  return {.layer = store_.unit(store_.layer(layer)).layout,
          .adapters = adapters ? &store_.unit(*adapters).layout : nullptr,
          .adapter_factor = static_cast<float>(run_.lora.factor()),
          .fp8 = fp8_ ? &*fp8_ : nullptr};
}

LayerWeights Decoder::gather_layer(std::int64_t layer) {
  LayerWeights weights;
  weights.layer = gatherer_.gather(store_.layer(layer));
  if (const auto adapters = store_.adapters(layer)) weights.adapters = gatherer_.gather(*adapters);
  return weights;
}

LayerWeights Decoder::take(LayerWeights& ahead, std::int64_t layer) {
  return ahead.submitted() ? std::exchange(ahead, LayerWeights()) : gather_layer(layer);
}

LayerGradients Decoder::open_gradients(std::int64_t layer) {
  LayerGradients gradients;
  gradients.layer = gatherer_.open_gradient(store_.layer(layer));
  if (const auto adapters = store_.adapters(layer)) gradients.adapters = gatherer_.open_gradient(*adapters);
  gradients.last_reader = last_reader(layer);
  return gradients;
}

LastReader Decoder::last_reader(std::int64_t layer) const {
  if (layer > 0 || store_.unit(store_.embedding()).layout.trains) return LastReader::below;
  return run_.lora.targets == spec::LoraTargets::mlp ? LastReader::feed_forward : LastReader::attention;
}

Decoder::HeadWeights Decoder::gather_head() {
  HeadWeights weights;
  weights.head = gatherer_.gather(store_.head());
  if (run_.model.tied_embedding) weights.embedding = gatherer_.gather(store_.embedding());
  return weights;
}

void Decoder::gather_after(const Chunk& chunk, std::int64_t i, Ahead& ahead) {
  if (i < chunk.last_layer()) {
    ahead.layer = gather_layer(i + 1);
  } else if (chunk.part.has_head) {
    ahead.head = gather_head();
  }
}

// A rank looks up the tokens whose rows it holds; the first rank adds the positions.
Tensor Decoder::embed(const Chunk& chunk, const Microbatch& batch, Ahead& ahead) {
  const RangeSpan range = range_of(store_.embedding());
  const auto& tp = shared_.tensor_parallel;
  GatheredUnit weights = gatherer_.gather(store_.embedding());
  Tensor x_RM = stream(0, "layer_input");  // outlives the layers' weights, so it lies below them
  if (prefetches()) ahead.layer = gather_layer(chunk.part.first_layer);
  weights.wait(context_.clock);
  PartialSums sums(context_, tp, "embedding_parts", x_RM);
  const EmbeddingForwardArgs args{.x_NM = sums.tokens_NM(),
                                  .tokens_N = batch.tokens_N,
                                  .table_VM = weights.weight(embedding_->tokens),
                                  .range = shared_.tokens,
                                  .position_TM = tp.first() ? weights.weight(embedding_->positions) : TensorView{},
                                  .first_N = batch.first_N,
                                  .seq_len = run_.seq_len};
  if (run_.embedding == spec::EmbeddingKind::one_hot) {
    one_hot_embedding_forward(shared_, args);
  } else {
    context_.ops.embedding_forward(args);
  }
  sums.finish();
  drop_input(shared_, x_RM);
  return x_RM;
}

Tensor Decoder::layers_forward(Chunk& chunk, const Microbatch& batch, Tensor x_RM, State& state, Ahead& ahead) {
  const KeepingNothing nothing_kept(shared_, batch.scored());
  const std::int64_t first = chunk.part.first_layer;
  const std::int64_t last = chunk.last_layer();
  for (std::int64_t i = first; i <= last; ++i) {
    const RangeSpan range = range_of(store_.layer(i));
    LayerWeights weights = take(ahead.layer, i);
    if (prefetches()) gather_after(chunk, i, ahead);
    weights.wait(context_.clock);
    auto& recorded = chunk.recorded_like(chunk.layer(i));
    run_layer(batch.scored() ? recorded.alone : recorded.forward, [&] {
      x_RM = chunk.layer(i).forward(weights, std::move(x_RM), chunk.state(i, state));
      if (records_layers()) chunk.state(i, state).finish_offload();
    });
    if (i == last && chunk.part.has_head && prefetches() && !batch.scored()) {
      state.last_layer = std::exchange(weights, LayerWeights());
    }
    weights = LayerWeights();
    if (i > first) chunk.state(i - 1, state).finish_offload();
  }
  chunk.state(last, state).finish_offload();
  return x_RM;
}

ParameterPlace Decoder::unembedding_place() const {
  return run_.model.tied_embedding ? embedding_->tokens : head_->unembedding.value();
}

Decoder::HeadWeights Decoder::ready(HeadWeights weights) {
  if (!weights.head.submitted()) weights = gather_head();
  weights.head.wait(context_.clock);
  if (run_.model.tied_embedding) weights.embedding.wait(context_.clock);
  return weights;
}

void Decoder::score(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights) {
  const RangeSpan range = range_of(store_.head());
  const auto [head, embedding] = ready(std::move(weights));
  score_head({.shared = shared_,
              .head = head,
              .final_norm = head_->final_norm,
              .unembedding = run_.model.tied_embedding ? embedding : head,
              .unembedding_VM = unembedding_place(),
              .x_RM = x_RM,
              .targets_N = batch.targets_N,
              .scores_B3 = batch.scores_B3});
}

Tensor Decoder::loss(const Microbatch& batch, const Tensor& x_RM, HeadWeights weights) {
  const RangeSpan range = range_of(store_.head());
  const bool tied = run_.model.tied_embedding;
  const auto [head, embedding] = ready(std::move(weights));
  GradientTarget head_gradients = gatherer_.open_gradient(store_.head());
  GradientTarget embedding_gradients = tied ? gatherer_.open_gradient(store_.embedding()) : GradientTarget();
  Tensor dx_RM = loss_head({.shared = shared_,
                            .head = head,
                            .final_norm = head_->final_norm,
                            .unembedding = tied ? embedding : head,
                            .unembedding_VM = unembedding_place(),
                            .head_gradients = head_gradients,
                            .unembedding_gradients = tied ? embedding_gradients : head_gradients,
                            .x_RM = x_RM,
                            .targets_N = batch.targets_N,
                            .loss_sum = batch.loss_sum,
                            .counted_targets = batch.counted_targets});
  if (tied) {
    // The position lookup has not contributed yet, so its rows must not keep old values of another buffer.
    const TensorView dposition = embedding_gradients.gradient(embedding_->positions);
    if (dposition.defined() && embedding_gradients.first_write() == Write::overwrite) context_.ops.fill(dposition, 0.0);
    const bool looked_up_elsewhere = store_.other_embedding().has_value();
    gatherer_.close_gradient(std::move(embedding_gradients), looked_up_elsewhere
                                                                 ? UnitGatherer::Contribution::final_one
                                                                 : UnitGatherer::Contribution::more_follow);
  }
  gatherer_.close_gradient(std::move(head_gradients), UnitGatherer::Contribution::final_one);
  return dx_RM;
}

Tensor Decoder::layers_backward(Chunk& chunk, Tensor dx_RM, State& state) {
  const std::int64_t first = chunk.part.first_layer;
  const std::int64_t last = chunk.last_layer();
  LayerWeights next = take(state.last_layer, last);
  chunk.layer(last).begin_fetch(chunk.state(last, state));
  for (std::int64_t i = last; i >= first; --i) {
    const RangeSpan range = range_of(store_.layer(i));
    LayerWeights weights = take(next, i);
    if (i > first && prefetches()) next = gather_layer(i - 1);
    weights.wait(context_.clock);
    LayerGradients gradients = open_gradients(i);
    if (i > first) chunk.layer(i - 1).begin_fetch(chunk.state(i - 1, state));
    chunk.state(i, state).finish_fetch();
    auto& recorded = gradients.last_reader == LastReader::below ? chunk.recorded_like(chunk.layer(i)).backward
                                                                : chunk.lowest_backward;
    run_layer(recorded,
              [&] { dx_RM = chunk.layer(i).backward(weights, gradients, std::move(dx_RM), chunk.state(i, state)); });
    weights = LayerWeights();
    gatherer_.close_gradient(std::move(gradients.layer), UnitGatherer::Contribution::final_one);
    gatherer_.close_gradient(std::move(gradients.adapters), UnitGatherer::Contribution::final_one);
  }
  return dx_RM;
}

void Decoder::embed_backward(const Microbatch& batch, const Tensor& dx_RM) {
  const RangeSpan range = range_of(store_.embedding());
  const auto& tp = shared_.tensor_parallel;
  GradientTarget gradients = gatherer_.open_gradient(store_.embedding());
  const TensorView dtable_VM = gradients.gradient(embedding_->tokens);
  const TensorView dposition_TM = gradients.gradient(embedding_->positions);
  if (gradients.first_write() == Write::overwrite) {
    context_.ops.fill(dtable_VM, 0.0);
    if (dposition_TM.defined()) context_.ops.fill(dposition_TM, 0.0);
  }
  drop_input(shared_, dx_RM);
  {
    Tensor gathered;
    const EmbeddingBackwardArgs args{.dtable_VM = dtable_VM,
                                     .range = shared_.tokens,
                                     .dposition_TM = tp.first() ? dposition_TM : TensorView{},
                                     .dx_NM = tp.gather(dx_RM, gathered, "embedding_dx"),
                                     .tokens_N = batch.tokens_N,
                                     .first_N = batch.first_N,
                                     .seq_len = run_.seq_len};
    if (run_.embedding == spec::EmbeddingKind::one_hot) {
      one_hot_embedding_backward(shared_, args);
    } else {
      context_.ops.embedding_backward(args);
    }
  }
  gatherer_.close_gradient(std::move(gradients), UnitGatherer::Contribution::final_one);
}

}  // namespace perfbench::engine
