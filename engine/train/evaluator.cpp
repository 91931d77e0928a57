#include "engine/train/evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/train/whole_step.h"

namespace perfbench::engine {
namespace {

Tensor token_rows(const Context& context, const char* name, std::int64_t tokens) {
  return Tensor(context.memory, {name, MemoryScope::activations, DType::i32, Shape{tokens}});
}

}  // namespace

Evaluator::Evaluator(Context& context, const spec::RunSpec& run, const ParameterStore& store, Decoder& decoder,
                     TensorView sums, EvaluationSource* source)
    : context_(context),
      run_(run),
      decoder_(decoder),
      sums_(sums),
      source_(source),
      embeds_(store.chunks().front().embeds),
      has_head_(store.chunks().back().has_head),
      pipeline_(context, run, decoder, Passes::forward),
      totals_(context.memory, {"evaluation_totals", MemoryScope::workspace, DType::f64, Shape{scores() + 1}}),
      host_totals_(static_cast<std::size_t>(scores() + 1)) {
  if (!embeds_ && !has_head_) return;
  tokens_ = token_rows(context, "evaluation_tokens", run.grad_accum * microbatch_tokens());
  targets_ = token_rows(context, "evaluation_targets", run.grad_accum * microbatch_tokens());
  if (source_ == nullptr) return;
  host_tokens_.resize(static_cast<std::size_t>(run.grad_accum * microbatch_tokens()));
  host_targets_.resize(host_tokens_.size());
}

std::int64_t Evaluator::steps() const {
  return source_ == nullptr ? 1 : evaluation_steps(run_, source_->rows());
}

void Evaluator::load(std::int64_t step) {
  PhaseClock::Scope scope(context_.clock, Phase::data);
  std::fill(host_totals_.begin(), host_totals_.end(), 0.0);
  if (tokens_.defined() && source_ != nullptr) {
    const auto count = static_cast<std::size_t>(microbatch_tokens());
    const std::int64_t shard = context_.collectives.mesh().index(kDataAxes);
    for (std::int64_t m = 0; m < run_.grad_accum; ++m) {
      const auto first = static_cast<std::size_t>(m) * count;
      const auto counts =
          source_->read({.step = step, .microbatch = m, .shard = shard}, std::span(host_tokens_).subspan(first, count),
                        std::span(host_targets_).subspan(first, count));
      if (has_head_) host_totals_.back() += static_cast<double>(counts.padding);
    }
  }
  if (tokens_.defined()) {
    context_.ops.upload(tokens_, host_tokens_.data());
    context_.ops.upload(targets_, host_targets_.data());
  }
  context_.ops.upload(totals_, host_totals_.data());
}

Decoder::Microbatch Evaluator::microbatch(std::int64_t index) const {
  const auto of = [&](const Tensor& all) {
    return all.defined() ? all.view().slice(index * microbatch_tokens(), Shape{microbatch_tokens()}) : TensorView{};
  };
  const std::int64_t shard = context_.collectives.mesh().index(kDataAxes);
  const std::int64_t row = shard * run_.sequences_per_rank() + index * run_.microbatch();
  return {.tokens_N = of(tokens_),
          .targets_N = of(targets_),
          .loss_sum = {},
          .scores_B3 = totals_.view().slice(row * kScores, Shape{run_.microbatch(), kScores})};
}

// Like Trainer::train, it does not synchronise with the host until its end.
void Evaluator::score() {
  context_.ops.fill(sums_, 0.0);
  pipeline_.run([this](std::int64_t m) { return microbatch(m); });
  const Phase phase = run_.mesh.pp() > 1 ? Phase::bubble : Phase::exposed_comm;
  sum_over_ranks(context_, totals_, phase);
  if (sums_.elements() > 1) sum_over_ranks(context_, sums_, phase);
}

void Evaluator::take_rows(std::int64_t step) {
  context_.ops.read_f64(host_totals_, totals_);
  if (source_ == nullptr) return;
  const std::int64_t first = step * run_.global_batch;
  const std::int64_t count = std::clamp<std::int64_t>(source_->rows() - first, 0, run_.global_batch);
  for (std::int64_t i = 0; i < count; ++i) {
    const double* const score = &host_totals_[static_cast<std::size_t>(i * kScores)];
    rows_.push_back({.log_likelihood = score[0],
                     .targets = static_cast<std::int64_t>(score[1]),
                     .missed = static_cast<std::int64_t>(score[2]),
                     .candidate = source_->candidate(first + i)});
  }
}

spec::StepRecord Evaluator::step(std::int64_t step) {
  context_.clock.start();
  load(step);
  // With stochastic rounding of weights, all steps use one draw.
  decoder_.gatherer().begin_step(0);
  if (run_.device_graphs && !run_.scan && run_.mesh.pp() == 1) {
    work_.run(context_, [this] { score(); });
  } else {
    score();
  }
  take_rows(step);
  std::array<double, kSums> sums{};
  if (sums_.elements() > 1) context_.ops.read_f64(sums, sums_);
  double likelihood = 0;
  double targets = 0;
  for (std::int64_t row = 0; row < run_.global_batch; ++row) {
    likelihood += host_totals_[static_cast<std::size_t>(row * kScores)];
    targets += host_totals_[static_cast<std::size_t>(row * kScores + 1)];
  }
  if (std::isfinite(likelihood)) require_none_dropped(run_, static_cast<std::int64_t>(sums[3]));
  context_.clock.stop();
  auto record = timed_step(context_, step);
  record.tokens = run_.global_batch * run_.seq_len;
  record.loss = targets > 0 ? -likelihood / targets : 0;
  record.balance_loss = sums[1] / static_cast<double>(run_.global_batch);
  record.expert_load = mean_expert_load(run_, sums[2]);
  record.dropped_choices = static_cast<std::int64_t>(sums[3]);
  record.loss_tokens = static_cast<std::int64_t>(targets);
  record.padding_tokens = static_cast<std::int64_t>(host_totals_.back());
  return record;
}

}  // namespace perfbench::engine
