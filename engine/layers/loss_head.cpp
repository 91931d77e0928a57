#include "engine/layers/loss_head.h"

#include <algorithm>

namespace perfbench::engine {

Tensor loss_head(const LossHeadArgs& args) {
  const Context& context = args.context;
  const auto& model = args.run.model;
  const std::int64_t n = args.x_NM.shape[0];
  const std::int64_t m = model.d_model;
  const std::int64_t chunk = std::min(args.run.loss_chunk_tokens, n);
  Tensor statistics = norm_statistics(context, model, "head.statistics", n);
  Tensor normed_NM = context.activation("head.final_norm", Shape{n, m});
  context.ops.norm_forward(norm_forward_args(model, args.head, args.final_norm, normed_NM, statistics, args.x_NM));
  const TensorView weight_VM = args.unembedding.weight(args.unembedding_VM);
  const TensorView dweight_VM = args.unembedding_gradients.gradient(args.unembedding_VM);
  {
    Tensor logits = context.activation("head.logits", Shape{chunk, model.vocab_size});
    Tensor losses = context.activation_f32("head.losses", Shape{chunk});
    Write write = args.unembedding_gradients.first_write();
    Additions additions = args.unembedding_gradients.additions();
    if (write == Write::overwrite && n > chunk) additions = Additions::follow;
    for (std::int64_t first = 0; first < n; first += chunk) {
      const std::int64_t rows = std::min(chunk, n - first);
      const TensorView logits_CV = logits.view().reshaped(Shape{rows, model.vocab_size});
      const TensorView losses_C = losses.view().reshaped(Shape{rows});
      const TensorView normed_CM = normed_NM.view().slice(first * m, Shape{rows, m});
      context.ops.matmul({.a = normed_CM,
                          .b = weight_VM,
                          .c = logits_CV,
                          .transpose_b = Transpose::yes,
                          .part = FlopPart::unembedding});
      context.ops.cross_entropy({.losses_N = losses_C,
                                 .logits_NV = logits_CV,
                                 .targets_N = args.targets_N.slice(first, Shape{rows}),
                                 .gradient_scale = args.gradient_scale});
      context.ops.sum(args.loss_sum, losses_C, Write::accumulate);
      PhaseClock::Scope backward(context.clock, Phase::backward);
      context.ops.matmul({.a = logits_CV,
                          .b = normed_CM,
                          .c = dweight_VM,
                          .transpose_a = Transpose::yes,
                          .write = write,
                          .additions = additions,
                          .part = FlopPart::unembedding});
      write = Write::accumulate;
      additions = Additions::none;
      // The chunk of the norm's output has been read for the last time: its rows take their gradient.
      context.ops.matmul({.a = logits_CV, .b = weight_VM, .c = normed_CM, .part = FlopPart::unembedding});
    }
  }
  PhaseClock::Scope backward(context.clock, Phase::backward);
  Tensor dx_NM = context.activation("head.dx", Shape{n, m});
  norm_backward(context, model, args.head, args.head_gradients, args.final_norm,
                {.dx = dx_NM, .dy = normed_NM, .x = args.x_NM, .statistics = statistics}, Write::overwrite);
  return dx_NM;
}

}  // namespace perfbench::engine
