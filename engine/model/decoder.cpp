#include "engine/model/decoder.h"

#include <utility>

#include "engine/layers/loss_head.h"
#include "engine/model/rope_table.h"

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

TokenRange tokens_of_rank(const spec::ModelSpec& model, const Mesh& mesh) {
  const auto part = dim_part(model.vocab_size, mesh.size(Axis::tp), mesh.index(Axis::tp));
  return {.first = part.begin, .all = model.vocab_size};
}

}  // namespace

Decoder::Outer::Outer(ParameterStore& store, bool tied)
    : token_embedding(store.unit(store.embedding()).layout.place("token_embedding")),
      position_embedding(store.unit(store.embedding()).layout.place_if_any("position_embedding")),
      final_norm(store.unit(store.head()).layout, "final_norm"),
      unembedding(tied ? token_embedding : store.unit(store.head()).layout.place("unembedding")) {
  store.unit(store.embedding()).layout.require_found(position_embedding ? 2 : 1);
  store.unit(store.head()).layout.require_found(final_norm.parameters() + (tied ? 0 : 1));
}

Decoder::Decoder(Context& context, const spec::RunSpec& run, ParameterStore& store)
    : context_(context),
      run_(run),
      store_(store),
      gatherer_(context, store, {.rounding = run.rounding, .seed = static_cast<std::uint64_t>(run.seed)},
                prefetches() ? ReductionOverlap::next_unit : ReductionOverlap::none),
      outer_(store, run.model.tied_embedding),
      rope_cos_sin_TD_(make_rope_table(context, run)),
      shared_{context,
              run,
              spec::resolve_remat(run),
              rope_cos_sin_TD_.view(),
              TensorParallel(context, run.microbatch() * run.seq_len, run.model.d_model),
              tokens_of_rank(run.model, context.collectives.mesh())} {
  layers_.reserve(static_cast<std::size_t>(run.model.layers));
  for (std::int64_t i = 0; i < run.model.layers; ++i) layers_.emplace_back(shared_, store.unit(store.layer(i)).layout);
}

void Decoder::forward(const Microbatch& batch, State& state) {
  PhaseClock::Scope forward(context_.clock, Phase::forward);
  gatherer_.begin_microbatch(batch.index, batch.kind);  // the loss has gradients already
  Tensor x_RM = layers_forward(embed(batch), state);
  state.dx_RM = loss(batch, x_RM);
}

void Decoder::backward(const Microbatch& batch, State& state) {
  PhaseClock::Scope backward(context_.clock, Phase::backward);
  Tensor dx_RM = layers_backward(std::move(state.dx_RM), state);
  embed_backward(batch, dx_RM);
}

void Decoder::run_layer(RecordedWork& recording, const std::function<void()>& body) {
  if (records_layers()) {
    recording.run(context_, body);
  } else {
    body();
  }
}

// A rank looks up the tokens whose rows it holds; the first adds the positions.
Tensor Decoder::embed(const Microbatch& batch) {
  const RangeSpan range = range_of(store_.embedding());
  const auto& tp = shared_.tensor_parallel;
  GatheredUnit weights = gatherer_.gather(store_.embedding());
  weights.wait(context_.clock);
  Tensor x_RM = context_.activation("layers.0.layer_input", Shape{tp.rows(), run_.model.d_model});
  PartialSums sums(context_, tp, "embedding_parts", x_RM);
  context_.ops.embedding_forward({.x_NM = sums.tokens_NM(),
                                  .tokens_N = batch.tokens_N,
                                  .table_VM = weights.weight(outer_.token_embedding),
                                  .range = shared_.tokens,
                                  .position_TM = tp.first() ? weights.weight(outer_.position_embedding) : TensorView{},
                                  .seq_len = run_.seq_len});
  sums.finish();
  return x_RM;
}

Tensor Decoder::layers_forward(Tensor x_RM, State& state) {
  const auto of_layer = [&](std::int64_t i) -> LayerState& { return state.layers[static_cast<std::size_t>(i)]; };
  GatheredUnit next = gatherer_.gather(store_.layer(0));
  for (std::int64_t i = 0; i < run_.model.layers; ++i) {
    GatheredUnit weights = std::exchange(next, GatheredUnit());
    const bool more = i + 1 < run_.model.layers;
    const RangeSpan range = range_of(store_.layer(i));
    if (more && prefetches()) next = gatherer_.gather(store_.layer(i + 1));
    weights.wait(context_.clock);
    run_layer(layer_forward_, [&] {
      x_RM = layer(i).forward(weights, std::move(x_RM), of_layer(i));
      if (records_layers()) of_layer(i).finish_offload();
    });
    weights = GatheredUnit();
    if (i > 0) of_layer(i - 1).finish_offload();
    if (more && !prefetches()) next = gatherer_.gather(store_.layer(i + 1));
  }
  state.layers.back().finish_offload();
  return x_RM;
}

Tensor Decoder::loss(const Microbatch& batch, const Tensor& x_RM) {
  const RangeSpan range = range_of(store_.head());
  const bool tied = run_.model.tied_embedding;
  GatheredUnit head = gatherer_.gather(store_.head());
  GatheredUnit embedding = tied ? gatherer_.gather(store_.embedding()) : GatheredUnit();
  head.wait(context_.clock);
  if (tied) embedding.wait(context_.clock);
  GradientTarget head_gradients = gatherer_.open_gradient(store_.head());
  GradientTarget embedding_gradients = tied ? gatherer_.open_gradient(store_.embedding()) : GradientTarget();
  Tensor dx_RM = loss_head({.shared = shared_,
                            .head = head,
                            .final_norm = outer_.final_norm,
                            .unembedding = tied ? embedding : head,
                            .unembedding_VM = outer_.unembedding,
                            .head_gradients = head_gradients,
                            .unembedding_gradients = tied ? embedding_gradients : head_gradients,
                            .x_RM = x_RM,
                            .targets_N = batch.targets_N,
                            .loss_sum = batch.loss_sum,
                            .gradient_scale = 1.0 / static_cast<double>(run_.global_batch * run_.seq_len)});
  if (tied) {
    // The lookup of positions has not contributed yet; its rows must not hold another buffer's old values.
    const TensorView dposition = embedding_gradients.gradient(outer_.position_embedding);
    if (dposition.defined() && embedding_gradients.first_write() == Write::overwrite) context_.ops.fill(dposition, 0.0);
    gatherer_.close_gradient(std::move(embedding_gradients), UnitGatherer::Contribution::more_follow);
  }
  gatherer_.close_gradient(std::move(head_gradients), UnitGatherer::Contribution::final_one);
  return dx_RM;
}

Tensor Decoder::layers_backward(Tensor dx_RM, State& state) {
  const auto of_layer = [&](std::int64_t i) -> LayerState& { return state.layers[static_cast<std::size_t>(i)]; };
  const std::int64_t last = run_.model.layers - 1;
  GatheredUnit next = gatherer_.gather(store_.layer(last));
  layer(last).begin_fetch(of_layer(last));
  for (std::int64_t i = last; i >= 0; --i) {
    GatheredUnit weights = std::exchange(next, GatheredUnit());
    const RangeSpan range = range_of(store_.layer(i));
    if (i > 0 && prefetches()) next = gatherer_.gather(store_.layer(i - 1));
    weights.wait(context_.clock);
    GradientTarget gradients = gatherer_.open_gradient(store_.layer(i));
    if (i > 0) layer(i - 1).begin_fetch(of_layer(i - 1));
    of_layer(i).finish_fetch();
    run_layer(layer_backward_, [&] { dx_RM = layer(i).backward(weights, gradients, std::move(dx_RM), of_layer(i)); });
    weights = GatheredUnit();
    gatherer_.close_gradient(std::move(gradients), UnitGatherer::Contribution::final_one);
    if (i > 0 && !prefetches()) next = gatherer_.gather(store_.layer(i - 1));
  }
  return dx_RM;
}

void Decoder::embed_backward(const Microbatch& batch, const Tensor& dx_RM) {
  const RangeSpan range = range_of(store_.embedding());
  const auto& tp = shared_.tensor_parallel;
  GradientTarget gradients = gatherer_.open_gradient(store_.embedding());
  const TensorView dtable_VM = gradients.gradient(outer_.token_embedding);
  const TensorView dposition_TM = gradients.gradient(outer_.position_embedding);
  if (gradients.first_write() == Write::overwrite) {
    context_.ops.fill(dtable_VM, 0.0);
    if (dposition_TM.defined()) context_.ops.fill(dposition_TM, 0.0);
  }
  {
    Tensor gathered;
    context_.ops.embedding_backward({.dtable_VM = dtable_VM,
                                     .range = shared_.tokens,
                                     .dposition_TM = tp.first() ? dposition_TM : TensorView{},
                                     .dx_NM = tp.gather(dx_RM, gathered, "embedding_dx"),
                                     .tokens_N = batch.tokens_N,
                                     .seq_len = run_.seq_len});
  }
  gatherer_.close_gradient(std::move(gradients), UnitGatherer::Contribution::final_one);
}

}  // namespace perfbench::engine
