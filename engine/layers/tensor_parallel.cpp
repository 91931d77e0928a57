#include "engine/layers/tensor_parallel.h"

#include <utility>

#include "workloads/spec/divide_up.h"

namespace perfbench::engine {

TensorParallel::TensorParallel(const Context& context, std::int64_t tokens, std::int64_t d_model)
    : context_(context),
      ranks_(context.collectives.mesh().size(Axis::tp)),
      index_(context.collectives.mesh().index(Axis::tp)),
      tokens_(tokens),
      rows_(spec::divide_up(tokens, ranks_)),
      d_model_(d_model) {}

Tensor TensorParallel::buffer(std::string name) const {
  return context_.workspace(std::move(name), Shape{ranks_ * rows_, d_model_});
}

TensorView TensorParallel::rows_of(TensorView buffer) const {
  const std::int64_t width = buffer.shape[1];
  return buffer.slice(index_ * rows_ * width, Shape{rows_, width});
}

TensorView TensorParallel::gather(TensorView buffer) const {
  if (ranks_ > 1) {
    PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
    context_.collectives.all_gather("N/tp -> N", buffer, rows_of(buffer), Lane::in_line).wait();
  }
  return tokens_of(buffer);
}

TensorView TensorParallel::gather(TensorView rows_RM, Tensor& buffer, std::string name) const {
  if (ranks_ == 1) return rows_RM;
  buffer = this->buffer(std::move(name));
  PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
  context_.collectives.all_gather("N/tp -> N", buffer, rows_RM, Lane::in_line).wait();
  return tokens_of(buffer);
}

PartialSums::PartialSums(const Context& context, const TensorParallel& ranks, std::string name, TensorView out_RM,
                         TensorView buffer)
    : context_(context), ranks_(ranks), name_(std::move(name)), out_RM_(out_RM), parts_(buffer) {
  if (ranks_.ranks() == 1) {
    parts_ = out_RM_;
    return;
  }
  if (!parts_.defined()) {
    own_ = ranks_.buffer(name_);
    parts_ = own_;
  }
  const std::int64_t written = ranks_.tokens() * ranks_.d_model();
  const std::int64_t rest = parts_.elements() - written;
  if (rest > 0) context_.ops.fill(parts_.slice(written, Shape{rest}), 0.0);
}

void PartialSums::finish() {
  if (ranks_.ranks() == 1) return;
  if (out_RM_.dtype == DType::f32) {
    PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
    context_.collectives.reduce_scatter("N -> N/tp", out_RM_, parts_, Lane::in_line).wait();
  } else {
    // Parts that are summed on their way would be rounded at every rank that they pass.
    Tensor received = ranks_.buffer(name_ + "_received");
    {
      PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
      context_.collectives.all_to_all(Axis::tp, received, parts_, Lane::in_line).wait();
    }
    context_.ops.sum_parts(out_RM_, received);
  }
  own_.reset();
}

}  // namespace perfbench::engine
