#include "engine/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/core/error.h"
#include "engine/ops/workspace.h"
#include "engine/optim/schedule.h"
#include "workloads/spec/expert_rows.h"

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

// Each has the loss of its sequences and counts their targets, in a pipeline the last stage; the others add zero. What
// experts add up is of the layers of each stage.
constexpr AxisSet kLossAxes = kDataAxes.with(Axis::pp);

// Of a model with experts: the loss, and what ExpertTotals names.
constexpr std::int64_t kSums = 4;

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
  switch (precision) {
    case spec::Precision::fp32:
    case spec::Precision::tf32:
      return DType::f32;
    case spec::Precision::bf16:
      return DType::bf16;
    case spec::Precision::fp8:
      break;
  }
  throw LogicFault("no compute type for precision " + std::string(spec::enum_name(precision)));
}

InitRule init_rule(const spec::RunSpec& run) {
  return {.seed = static_cast<std::uint64_t>(run.seed), .matrix_std = run.model.init_std};
}

std::span<const Declared> communication() {
  using enum Axis;
  static constexpr std::array<Declared, 10> kAll{
      {{fsdp, Lane::background},  // weights and gradients
                                  // gradients of weights that several ranks hold
       {dp, Lane::background},
       {{dp, tp}, Lane::background},
       {{dp, ep}, Lane::background},
       {{dp, ep, tp}, Lane::background},
       {tp, Lane::in_line},          // rows of the residual stream, and sums that ranks have parts of
       {ep, Lane::in_line},          // rows of tokens, to their experts and back
       {kModelAxes, Lane::in_line},  // the gradient's norm
       {kLossAxes, Lane::in_line},
       {pp, Lane::messages}}};  // what lies between stages
  return kAll;
}

Trainer::Trainer(Context& context, const spec::RunSpec& run, const InitRule& init, TokenSource* tokens)
    : context_(context),
      run_(run),
      source_(tokens),
      workspace_(make_workspace(context, run)),
      store_(context, run, init, keeps_bf16_weights(context, run)),
      sums_(context.memory,
            {"step_sums", MemoryScope::workspace, DType::f64, Shape{run.model.moe.n_experts > 0 ? kSums : 1}}),
      counts_(make_counts(context, run)),
      decoder_(context, run, store_, expert_totals()),
      pipeline_(context, run, decoder_),
      optimizer_(context, run.optimizer) {
  if (!reads_data()) return;
  tokens_ = token_buffer(context, "tokens", run.grad_accum * microbatch_tokens());
  targets_ = token_buffer(context, "targets", run.grad_accum * microbatch_tokens());
  if (source_ == nullptr) return;
  host_tokens_.resize(static_cast<std::size_t>(run.grad_accum * microbatch_tokens()));
  host_targets_.resize(host_tokens_.size());
}

bool Trainer::reads_data() const {
  return store_.chunks().front().embeds || store_.chunks().back().has_head;
}

void Trainer::load(std::int64_t step) {
  if (!reads_data() && !counts_.defined()) return;
  PhaseClock::Scope scope(context_.clock, Phase::data);
  TokenCounts counts;
  if (reads_data()) counts = load_tokens(step);
  if (!counts_.defined()) return;
  if (!store_.chunks().back().has_head) counts = {};
  const std::array<double, kCounts> of_rank{static_cast<double>(counts.targets), static_cast<double>(counts.padding)};
  context_.ops.upload(counts_, of_rank.data());
}

TokenCounts Trainer::load_tokens(std::int64_t step) {
  TokenCounts counts;
  if (source_ != nullptr) {
    const auto count = static_cast<std::size_t>(microbatch_tokens());
    const std::int64_t shard = context_.collectives.mesh().index(kDataAxes);
    for (std::int64_t m = 0; m < run_.grad_accum; ++m) {
      const auto first = static_cast<std::size_t>(m) * count;
      const auto of_microbatch =
          source_->read({.step = step, .microbatch = m, .shard = shard}, std::span(host_tokens_).subspan(first, count),
                        std::span(host_targets_).subspan(first, count));
      counts.targets += of_microbatch.targets;
      counts.padding += of_microbatch.padding;
    }
  }
  context_.ops.upload(tokens_, host_tokens_.data());
  context_.ops.upload(targets_, host_targets_.data());
  return counts;
}

Decoder::Microbatch Trainer::microbatch(std::int64_t index) const {
  const auto of = [&](const Tensor& all) {
    return all.defined() ? all.view().slice(index * microbatch_tokens(), Shape{microbatch_tokens()}) : TensorView{};
  };
  return {.tokens_N = of(tokens_),
          .targets_N = of(targets_),
          .loss_sum = loss_sum(),
          .counted_targets = counts_.defined() ? counts_.view().slice(0, Shape{1}) : TensorView{}};
}

// From here to the end of the update the host tells the device nothing that differs from step to step and waits for
// nothing that it computes, so a device may run behind it.
void Trainer::train() {
  context_.ops.fill(sums_, 0.0);
  if (counts_.defined()) sum_over_ranks(counts_, Phase::exposed_comm);
  pipeline_.run([this](std::int64_t m) { return microbatch(m); });
  // Here the stages meet: who has ended early waits as it did before it could begin.
  if (in_pipeline()) sum_over_ranks(sums_, Phase::bubble);
  decoder_.gatherer().finish_gradients();
  optimizer_.update(store_);
  if (!in_pipeline()) sum_over_ranks(sums_, Phase::exposed_comm);
}

void Trainer::sum_over_ranks(TensorView sums, Phase phase) {
  if (context_.collectives.mesh().size(kLossAxes) == 1) return;
  PhaseClock::Scope scope(context_.clock, phase);
  context_.collectives.all_reduce(kLossAxes, sums, Lane::in_line).wait();
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
          .expert_load = sums[2] / static_cast<double>(run_.global_batch *
                                                       std::max<std::int64_t>(spec::expert_layers(run_.model), 1)),
          .dropped_choices = static_cast<std::int64_t>(sums[3]),
          .tokens = tokens};
}

TokenCounts Trainer::read_counts() {
  if (!counts_.defined()) return {};
  std::array<double, kCounts> counts{};
  context_.ops.read_f64(counts, counts_);
  return {.targets = static_cast<std::int64_t>(counts[0]), .padding = static_cast<std::int64_t>(counts[1])};
}

void Trainer::require_none_dropped(std::int64_t dropped_choices) const {
  if (!spec::drops_none(run_.model.moe) || dropped_choices == 0) return;
  throw EngineError(EngineExit::failed,
                    "experts: " + std::to_string(dropped_choices) +
                        " choices of a step found no row, and the model drops none (capacity_factor 0); a rank has " +
                        std::to_string(spec::expert_rows(run_)) +
                        " rows for the experts of each rank along ep: use a larger expert_buffer_factor");
}

spec::StepRecord Trainer::step(std::int64_t step) {
  PhaseClock& clock = context_.clock;
  clock.start();
  load(step);
  decoder_.gatherer().begin_step(step);
  optimizer_.begin(step);
  // Stages wait for each other within a step, on streams that a graph's branches may share: not as one recording.
  if (run_.device_graphs && !run_.scan && !in_pipeline()) {
    work_.run(context_, [this] { train(); });
  } else {
    train();
  }
  const Sums sums = read_sums();
  const double grad_norm = optimizer_.grad_norm();
  // Logits that are no numbers send all tokens to the same experts: such a run has diverged, as its record says.
  if (std::isfinite(sums.loss)) require_none_dropped(sums.dropped_choices);
  clock.stop();
  return {.rank = context_.collectives.mesh().rank(),
          .step = step,
          .wall_ns = clock.wall_ns(),
          .data_ns = clock.phase_ns(Phase::data),
          .forward_ns = clock.phase_ns(Phase::forward),
          .backward_ns = clock.phase_ns(Phase::backward),
          .exposed_comm_ns = clock.phase_ns(Phase::exposed_comm),
          .optimizer_ns = clock.phase_ns(Phase::optimizer),
          .other_ns = clock.phase_ns(Phase::other),
          .tokens = run_.global_batch * run_.seq_len,
          .loss = sums.loss,
          .grad_norm = grad_norm,
          .learning_rate = learning_rate(run_.optimizer, step),
          .peak = context_.memory.ledger().peaks(),
          .bubble_ns = clock.phase_ns(Phase::bubble),
          .balance_loss = sums.balance_loss,
          .expert_load = sums.expert_load,
          .dropped_choices = sums.dropped_choices,
          .loss_tokens = sums.tokens.targets,
          .padding_tokens = sums.tokens.padding};
}

}  // namespace perfbench::engine
