#include "engine/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/core/error.h"
#include "engine/layers/fp8_scales.h"
#include "engine/ops/workspace.h"
#include "engine/optim/schedule.h"
#include "engine/train/whole_step.h"

namespace perfbench::engine {
namespace {

Tensor token_buffer(Context& context, const char* name, std::int64_t tokens) {
  return Tensor(context.memory, {name, MemoryScope::activations, DType::i32, Shape{tokens}});
}

Tensor make_workspace(Context& context, const spec::RunSpec& run) {
  const std::int64_t bytes = workspace::bytes(run);
  if (bytes == 0) return {};
  Tensor made(context.memory,
              {"ops_workspace", MemoryScope::workspace, DType::f32, Shape{bytes / size_bytes(DType::f32)}});
  context.ops.use_workspace(made);
  return made;
}

constexpr std::int64_t kCounts = 2;

Tensor make_counts(Context& context, const spec::RunSpec& run) {
  if (!run.counts_targets()) return {};
  return Tensor(context.memory, {"token_counts", MemoryScope::workspace, DType::f64, Shape{kCounts}});
}

bool keeps_bf16_weights(const Context& context, const spec::RunSpec& run) {
  return context.compute == DType::bf16 && run.bf16_weights == spec::Bf16Weights::kept;
}

}  // namespace

DType compute_dtype(spec::Precision precision) {
  return spec::computes_in_bf16(precision) ? DType::bf16 : DType::f32;
}

InitRule init_rule(const spec::RunSpec& run) {
  return {.seed = static_cast<std::uint64_t>(run.seed), .matrix_std = run.model.init_std};
}

std::vector<Declared> communication(const spec::RunSpec& run) {
  using enum Axis;
  // weights and gradients, and gradients of weights that several ranks hold
  std::vector<Declared> all{{fsdp, Lane::background},
                            {dp, Lane::background},
                            {{dp, tp}, Lane::background},
                            {{dp, ep}, Lane::background},
                            {{dp, ep, tp}, Lane::background},
                            {tp, Lane::in_line},          // rows of the residual stream, and partial sums
                            {ep, Lane::in_line},          // rows of tokens, to their experts and back
                            {kModelAxes, Lane::in_line},  // the gradient's norm
                            {kLossAxes, Lane::in_line},
                            {pp, Lane::messages}};                            // outputs and gradients between stages
  if (Fp8Scales::look_back(run)) all.push_back({kLayerAxes, Lane::in_line});  // amax of the values that layers round
  return all;
}

Trainer::Trainer(Context& context, const spec::RunSpec& run, const InitRule& init, TokenSource* tokens,
                 EvaluationSource* evaluation)
    : context_(context),
      run_(run),
      source_(tokens),
      workspace_(make_workspace(context, run)),
      store_(context, run, init, keeps_bf16_weights(context, run)),
      sums_(context.memory,
            {"step_sums", MemoryScope::workspace, DType::f64, Shape{run.model.moe.n_experts > 0 ? kSums : 1}}),
      counts_(make_counts(context, run)),
      decoder_(context, run, store_, expert_totals()),
      pipeline_(context, run, decoder_) {
  if (!run.trains() || run.evaluates_at_end()) evaluator_.emplace(context, run, store_, decoder_, sums_, evaluation);
  if (!run.trains()) return;
  optimizer_.emplace(context, run);
  if (run.optimizer.in_backward) {
    decoder_.gatherer().use_each_gradient([this](std::size_t unit) { optimizer_->update_unit(store_, unit); });
  }
  if (run.checkpoint.saves()) saver_.emplace(context, run, store_, decoder_.fp8());
  const std::int64_t tokens_of_step = run.grad_accum * microbatch_tokens();
  const auto on_host = static_cast<std::size_t>(source_ == nullptr ? 0 : tokens_of_step);
  if (run.packs_documents()) {
    document_starts_ = token_buffer(context, "document_starts", tokens_of_step);
    host_document_starts_.resize(on_host);
  }
  if (!reads_data()) return;
  tokens_ = token_buffer(context, "tokens", tokens_of_step);
  targets_ = token_buffer(context, "targets", tokens_of_step);
  host_tokens_.resize(on_host);
  host_targets_.resize(on_host);
}

bool Trainer::reads_data() const {
  return store_.chunks().front().embeds || store_.chunks().back().has_head;
}

void Trainer::load(std::int64_t step) {
  if (!reads_data() && !counts_.defined()) return;
  PhaseClock::Scope scope(context_.clock, Phase::data);
  TokenCounts counts;
  if (reads_data()) counts = load_tokens(step);
  if (document_starts_.defined()) load_document_starts(step);
  if (!counts_.defined()) return;
  if (!store_.chunks().back().has_head) counts = {};
  const std::array<double, kCounts> of_rank{static_cast<double>(counts.targets), static_cast<double>(counts.padding)};
  context_.ops.upload(counts_, of_rank.data());
}

template <class F>
void Trainer::for_each_microbatch(std::int64_t step, F&& f) const {
  if (source_ == nullptr) return;
  const auto count = static_cast<std::size_t>(microbatch_tokens());
  const std::int64_t shard = context_.collectives.mesh().index(kDataAxes);
  for (std::int64_t m = 0; m < run_.grad_accum; ++m) {
    f(BatchPlace{.step = step, .microbatch = m, .shard = shard}, static_cast<std::size_t>(m) * count, count);
  }
}

TokenCounts Trainer::load_tokens(std::int64_t step) {
  TokenCounts counts;
  for_each_microbatch(step, [&](const BatchPlace& place, std::size_t first, std::size_t count) {
    const auto of_microbatch = source_->read(place, std::span(host_tokens_).subspan(first, count),
                                             std::span(host_targets_).subspan(first, count));
    counts.targets += of_microbatch.targets;
    counts.padding += of_microbatch.padding;
  });
  context_.ops.upload(tokens_, host_tokens_.data());
  context_.ops.upload(targets_, host_targets_.data());
  return counts;
}

void Trainer::load_document_starts(std::int64_t step) {
  for_each_microbatch(step, [&](const BatchPlace& place, std::size_t first, std::size_t count) {
    source_->read_document_starts(place, std::span(host_document_starts_).subspan(first, count));
  });
  context_.ops.upload(document_starts_, host_document_starts_.data());
}

Decoder::Microbatch Trainer::microbatch(std::int64_t index) const {
  const auto of = [&](const Tensor& all) {
    return all.defined() ? all.view().slice(index * microbatch_tokens(), Shape{microbatch_tokens()}) : TensorView{};
  };
  const std::int64_t shard = context_.collectives.mesh().index(kDataAxes);
  return {.tokens_N = of(tokens_),
          .targets_N = of(targets_),
          .loss_sum = loss_sum(),
          .counted_targets = counts_.defined() ? counts_.view().slice(0, Shape{1}) : TensorView{},
          .first_N = of(document_starts_),
          .first_token = first_sequence(run_, {.microbatch = index, .shard = shard}) * run_.seq_len};
}

// From here to the end of the update the host gives the device no values that differ from step to step, and waits for
// no results, so a device may run behind the host.
void Trainer::train() {
  context_.ops.fill(sums_, 0.0);
  if (counts_.defined()) sum_over_ranks(context_, counts_, Phase::exposed_comm);
  pipeline_.run([this](std::int64_t m) { return microbatch(m); });
  // The stages meet here: a stage that has ended early waits, as it waited before it could begin.
  if (in_pipeline()) sum_over_ranks(context_, sums_, Phase::bubble);
  decoder_.gatherer().finish_gradients();
  if (run_.optimizer.in_backward) {
    optimizer_->finish_units();
  } else {
    optimizer_->update(store_);
  }
  decoder_.end_step();
  if (!in_pipeline()) sum_over_ranks(context_, sums_, Phase::exposed_comm);
}

ExpertTotals Trainer::expert_totals() const {
  if (run_.model.moe.n_experts == 0) return {};
  return {.balance = sums_.view().slice(1, Shape{1}),
          .load = sums_.view().slice(2, Shape{1}),
          .dropped = sums_.view().slice(3, Shape{1})};
}

Trainer::Sums Trainer::read_sums() {
  std::array<double, kSums> sums{};  // 0 where the model has no experts
  context_.ops.read_f64(std::span(sums).first(static_cast<std::size_t>(sums_.view().elements())), sums_);
  const TokenCounts tokens = read_counts();
  const std::int64_t counted = counts_.defined() ? tokens.targets : run_.global_batch * run_.seq_len;
  return {.loss = counted > 0 ? sums[0] / static_cast<double>(counted) : 0.0,
          .balance_loss = sums[1] / static_cast<double>(run_.global_batch),
          .expert_load = mean_expert_load(run_, sums[2]),
          .dropped_choices = static_cast<std::int64_t>(sums[3]),
          .tokens = tokens};
}

TokenCounts Trainer::read_counts() {
  if (!counts_.defined()) return {};
  std::array<double, kCounts> counts{};
  context_.ops.read_f64(counts, counts_);
  return {.targets = static_cast<std::int64_t>(counts[0]), .padding = static_cast<std::int64_t>(counts[1])};
}

spec::StepRecord Trainer::step(std::int64_t step) {
  if (!run_.trains()) return evaluator_->step(step);
  PhaseClock& clock = context_.clock;
  clock.start();
  load(step);
  decoder_.begin_step(step);
  optimizer_->begin(step);
  // Stages wait for each other within a step, on streams that the branches of a graph may share, so a pipeline cannot
  // be one recording.
  if (run_.device_graphs && !run_.scan && !in_pipeline()) {
    work_.run(context_, [this] { train(); });
  } else {
    train();
  }
  const Sums sums = read_sums();
  const double grad_norm = optimizer_->grad_norm();
  // Logits that are NaN send all tokens to the same experts: such a run has diverged, as its record says.
  if (std::isfinite(sums.loss)) require_none_dropped(run_, sums.dropped_choices);
  clock.stop();
  auto record = timed_step(context_, step);
  record.tokens = run_.global_batch * run_.seq_len;
  record.loss = sums.loss;
  record.grad_norm = grad_norm;
  record.learning_rate = learning_rate(run_.optimizer, step);
  record.balance_loss = sums.balance_loss;
  record.expert_load = sums.expert_load;
  record.dropped_choices = sums.dropped_choices;
  record.loss_tokens = sums.tokens.targets;
  record.padding_tokens = sums.tokens.padding;
  return record;
}

void Trainer::evaluate_at_end() {
  if (!run_.trains() || !evaluator_) return;
  if (run_.lora.merge) decoder_.merge_adapters();
  for (std::int64_t i = 0; i < evaluator_->steps(); ++i) evaluator_->step(i);
}

}  // namespace perfbench::engine
