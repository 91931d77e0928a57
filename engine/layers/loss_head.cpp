#include "engine/layers/loss_head.h"

#include <algorithm>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// The factor between the gradient of a token's loss and that of the step's mean loss. It is 1 if the device divides by
// the number of targets that it has counted.
double gradient_scale(const LossHeadArgs& args) {
  const auto& run = args.shared.run;
  return args.counted_targets.defined() ? 1.0 : 1.0 / static_cast<double>(run.global_batch * run.seq_len);
}

// Returns [ranks, statistics, rows], gathered from each rank's [statistics, rows].
TensorView of_all_ranks(const LayerShared& shared, const Tensor& own, Tensor& all) {
  const auto& context = shared.context;
  const auto& tp = shared.tensor_parallel;
  const Shape shape{tp.ranks(), own.view().shape[0], own.view().shape[1]};
  if (tp.ranks() == 1) return own.view().reshaped(shape);
  all = context.activation_f32("head.statistics_of_ranks", shape);
  PhaseClock::Scope scope(context.clock, Phase::exposed_comm);
  context.collectives.all_gather("S/tp -> S", all, own, Lane::in_line).wait();
  return all;
}

// Computes losses, and replaces the logits by their gradient.
void cross_entropy(const LossHeadArgs& args, RowsView logits_CV, TensorView targets_C, TensorView losses_C) {
  const Context& context = args.shared.context;
  const auto& tp = args.shared.tensor_parallel;
  if (tp.ranks() == 1) {
    context.ops.cross_entropy({.losses_N = losses_C,
                               .logits_NV = logits_CV,
                               .targets_N = targets_C,
                               .gradient_scale = gradient_scale(args),
                               .counted_targets = args.counted_targets});
    return;
  }
  const std::int64_t rows = logits_CV.shape[0];
  const Tensor own = context.activation_f32("head.own_statistics", Shape{kCrossEntropyStatistics, rows});
  Tensor all;
  context.ops.cross_entropy_part(
      {.statistics_3N = own, .logits_NV = logits_CV, .targets_N = targets_C, .range = args.shared.tokens});
  context.ops.cross_entropy_whole({.losses_N = losses_C,
                                   .logits_NV = logits_CV,
                                   .statistics_R3N = of_all_ranks(args.shared, own, all),
                                   .targets_N = targets_C,
                                   .range = args.shared.tokens,
                                   .gradient_scale = gradient_scale(args),
                                   .counted_targets = args.counted_targets});
}

// Rows of logits begin at multiples of this, also if the vocabulary is not one: products on tensor cores move 16 bytes
// at a time, and are several times slower if rows begin elsewhere (ci/bench/README.md).
constexpr std::int64_t kRowAlignment = 8;

// The logits of a chunk, and their gradient as the products of the backward pass read it: in place of the logits, or
// beside them in the type of those products.
class Logits {
 public:
  enum class Use { training, scoring };
  Logits(const Context& context, const spec::RunSpec& run, Use use, Shape chunk)
      : context_(context), vocabulary_(chunk[1]) {
    const Shape padded{chunk[0], (vocabulary_ + kRowAlignment - 1) / kRowAlignment * kRowAlignment};
    const bool in_f32 = run.logits == spec::LogitsType::fp32;
    logits_ = in_f32 ? context.activation_f32("head.logits", padded) : context.activation("head.logits", padded);
    if (in_f32 && use == Use::training) rounded_ = context.activation("head.dlogits", padded);
  }

  RowsView rows(std::int64_t count) const { return of_vocabulary(first_rows(logits_, count)); }
  // For the first `count` rows, whose logits have become their gradient.
  RowsView gradient(std::int64_t count) const {
    if (!rounded_.defined()) return rows(count);
    context_.ops.copy(first_rows(rounded_, count), first_rows(logits_, count));
    return of_vocabulary(first_rows(rounded_, count));
  }

 private:
  static TensorView first_rows(const TensorView& all, std::int64_t count) {
    return all.slice(0, Shape{count, all.shape[1]});
  }
  RowsView of_vocabulary(const RowsView& padded) const { return padded.columns(0, vocabulary_); }

  const Context& context_;
  std::int64_t vocabulary_;
  Tensor logits_;
  Tensor rounded_;
};

// Replaces the rows of the buffer by their gradient.
void unembed_and_back(const LossHeadArgs& args, TensorView normed_NM, TensorView dnormed_NM) {
  const Context& context = args.shared.context;
  const std::int64_t n = normed_NM.shape[0];
  const std::int64_t m = normed_NM.shape[1];
  const std::int64_t chunk = std::min(args.shared.run.loss_chunk_tokens, n);
  const TensorView weight_VM = args.unembedding.weight(args.unembedding_VM);
  const std::int64_t vocabulary = weight_VM.shape[0];  // of this rank
  const TensorView dweight_VM = args.unembedding_gradients.gradient(args.unembedding_VM);
  const Logits logits(context, args.shared.run, Logits::Use::training, Shape{chunk, vocabulary});
  Tensor losses = context.activation_f32("head.losses", Shape{chunk});
  Write write = args.unembedding_gradients.first_write();
  Additions additions = args.unembedding_gradients.additions();
  if (write == Write::overwrite && n > chunk) additions = Additions::follow;
  for (std::int64_t first = 0; first < n; first += chunk) {
    const std::int64_t rows = std::min(chunk, n - first);
    const RowsView logits_CV = logits.rows(rows);
    const TensorView losses_C = losses.view().reshaped(Shape{rows});
    const TensorView normed_CM = normed_NM.slice(first * m, Shape{rows, m});
    context.ops.matmul(
        {.a = normed_CM, .b = weight_VM, .c = logits_CV, .transpose_b = Transpose::yes, .part = FlopPart::unembedding});
    cross_entropy(args, logits_CV, args.targets_N.slice(first, Shape{rows}), losses_C);
    context.ops.sum(args.loss_sum, losses_C, Write::accumulate);
    PhaseClock::Scope backward(context.clock, Phase::backward);
    const RowsView dlogits_CV = logits.gradient(rows);
    if (dweight_VM.defined()) {
      context.ops.matmul({.a = dlogits_CV,
                          .b = normed_CM,
                          .c = dweight_VM,
                          .transpose_a = Transpose::yes,
                          .write = write,
                          .additions = additions,
                          .part = FlopPart::unembedding});
    }
    write = Write::accumulate;
    additions = Additions::none;
    // This was the last read of this chunk of the norm's output: its gradient goes to its rows.
    context.ops.matmul({.a = dlogits_CV,
                        .b = weight_VM,
                        .c = dnormed_NM.slice(first * m, Shape{rows, m}),
                        .part = FlopPart::unembedding});
  }
}

// Scores the rows from `first` on.
void score_chunk(const ScoreHeadArgs& args, RowsView logits_CV, std::int64_t first) {
  const Context& context = args.shared.context;
  const std::int64_t rows = logits_CV.shape[0];
  const TensorView targets_C = args.targets_N.slice(first, Shape{rows});
  const Tensor own = context.activation_f32("head.own_statistics", Shape{kScoreStatistics, rows});
  Tensor all;
  context.ops.cross_entropy_part({.statistics_3N = own.view().slice(0, Shape{kCrossEntropyStatistics, rows}),
                                  .logits_NV = logits_CV,
                                  .targets_N = targets_C,
                                  .range = args.shared.tokens,
                                  .others_N = own.view().slice(kCrossEntropyStatistics * rows, Shape{rows})});
  context.ops.score({.scores_B3 = args.scores_B3,
                     .statistics_R4N = of_all_ranks(args.shared, own, all),
                     .targets_N = targets_C,
                     .first = first,
                     .seq_len = args.shared.run.seq_len});
}

}  // namespace

void score_head(const ScoreHeadArgs& args) {
  const Context& context = args.shared.context;
  const auto& model = args.shared.run.model;
  const auto& tp = args.shared.tensor_parallel;
  const Tensor normed = context.activation("head.final_norm", Shape{tp.ranks() * tp.rows(), model.d_model});
  {
    const Tensor statistics = norm_statistics(context, model, "head.statistics", tp.rows());
    context.ops.norm_forward(
        norm_forward_args(model, args.head, args.final_norm, tp.rows_of(normed), statistics, args.x_RM));
  }
  const TensorView normed_NM = tp.gather(normed.view());
  const TensorView weight_VM = args.unembedding.weight(args.unembedding_VM);
  const std::int64_t vocabulary = weight_VM.shape[0];  // of this rank
  const std::int64_t n = normed_NM.shape[0];
  const std::int64_t chunk = std::min(args.shared.run.loss_chunk_tokens, n);
  const Logits logits(context, args.shared.run, Logits::Use::scoring, Shape{chunk, vocabulary});
  for (std::int64_t first = 0; first < n; first += chunk) {
    const std::int64_t rows = std::min(chunk, n - first);
    const RowsView logits_CV = logits.rows(rows);
    context.ops.matmul({.a = normed_NM.slice(first * model.d_model, Shape{rows, model.d_model}),
                        .b = weight_VM,
                        .c = logits_CV,
                        .transpose_b = Transpose::yes,
                        .part = FlopPart::unembedding});
    score_chunk(args, logits_CV, first);
  }
}

Tensor loss_head(const LossHeadArgs& args) {
  const Context& context = args.shared.context;
  const auto& model = args.shared.run.model;
  const auto& tp = args.shared.tensor_parallel;
  Tensor statistics = norm_statistics(context, model, "head.statistics", tp.rows());
  Tensor normed = context.activation("head.final_norm", Shape{tp.ranks() * tp.rows(), model.d_model});
  const TensorView rows_RM = tp.rows_of(normed);
  context.ops.norm_forward(norm_forward_args(model, args.head, args.final_norm, rows_RM, statistics, args.x_RM));
  const TensorView normed_NM = tp.gather(normed.view());
  PartialSums sums(context, tp, "head.dfinal_norm", rows_RM, normed);
  unembed_and_back(args, normed_NM, sums.tokens_NM());
  PhaseClock::Scope backward(context.clock, Phase::backward);
  sums.finish();
  Tensor dx_RM = context.activation("head.dx", Shape{tp.rows(), model.d_model});
  norm_backward(context, model, args.head, args.head_gradients, args.final_norm,
                {.dx = dx_RM, .dy = rows_RM, .x = args.x_RM, .statistics = statistics}, Write::overwrite);
  return dx_RM;
}

}  // namespace perfbench::engine
