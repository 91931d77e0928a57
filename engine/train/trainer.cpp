#include "engine/train/trainer.h"

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

Tensor token_buffer(Context& context, const char* name, std::int64_t tokens) {
  return Tensor(context.memory, {name, MemoryScope::activations, DType::i32, Shape{tokens}});
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

Trainer::Trainer(Context& context, const spec::RunSpec& run, const InitRule& init, TokenSource* tokens)
    : context_(context),
      run_(run),
      source_(tokens),
      decoder_(context, run, init),
      optimizer_(context, run.optimizer),
      tokens_N_(token_buffer(context, "tokens", run.microbatch() * run.seq_len)),
      targets_N_(token_buffer(context, "targets", run.microbatch() * run.seq_len)),
      loss_sum_(context.memory, {"loss_sum", MemoryScope::workspace, DType::f64, Shape{1}}) {
  if (source_ == nullptr) return;
  host_tokens_.resize(static_cast<std::size_t>(run.microbatch() * run.seq_len));
  host_targets_.resize(host_tokens_.size());
}

void Trainer::load(const BatchPlace& place) {
  PhaseClock::Scope scope(context_.clock, Phase::data);
  if (source_ != nullptr) source_->read(place, host_tokens_, host_targets_);
  context_.ops.upload(tokens_N_, host_tokens_.data());
  context_.ops.upload(targets_N_, host_targets_.data());
}

double Trainer::global_loss() {
  if (context_.collectives.mesh().size(MeshAxis::data) > 1) {
    PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
    context_.collectives.all_reduce(MeshAxis::data, loss_sum_).wait();
  }
  return context_.ops.read_f64(loss_sum_) / static_cast<double>(run_.global_batch * run_.seq_len);
}

spec::StepRecord Trainer::step(std::int64_t step) {
  PhaseClock& clock = context_.clock;
  clock.start();
  context_.ops.fill(loss_sum_, 0.0);
  for (std::int64_t m = 0; m < run_.grad_accum; ++m) {
    load({.step = step, .microbatch = m, .shard = context_.collectives.mesh().index(MeshAxis::data)});
    decoder_.train({.tokens_N = tokens_N_,
                    .targets_N = targets_N_,
                    .loss_sum = loss_sum_,
                    .index = m,
                    .kind = m + 1 == run_.grad_accum ? Fsdp::Microbatch::last : Fsdp::Microbatch::middle});
  }
  decoder_.fsdp().finish_gradients();
  const UpdateResult update = optimizer_.update(decoder_.fsdp(), step);
  const double loss = global_loss();
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
          .loss = loss,
          .grad_norm = update.grad_norm,
          .learning_rate = update.learning_rate,
          .peak = context_.memory.ledger().peaks()};
}

}  // namespace perfbench::engine
