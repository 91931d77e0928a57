// Every operation that a backend computes, with the types of its arguments: Ops declares them, backends override them,
// the dry one leaves them empty. The public function with the same name (ops.h) documents its meaning and names its
// arguments. Operations with a result are not in this list but beside it.
#pragma once

#define PERFBENCH_OPERATIONS(OPERATION)                                       \
  OPERATION(matmul, (const MatmulArgs&))                                      \
  OPERATION(bias_backward, (TensorView, RowsView, Write))                     \
  OPERATION(norm_forward, (const NormForwardArgs&))                           \
  OPERATION(norm_apply, (const NormForwardArgs&))                             \
  OPERATION(norm_backward, (const NormBackwardArgs&))                         \
  OPERATION(rope, (const RopeArgs&))                                          \
  OPERATION(attention_forward, (const AttentionForwardArgs&))                 \
  OPERATION(attention_backward, (const AttentionBackwardArgs&))               \
  OPERATION(relative_bias_forward, (const RelativeBiasForwardArgs&))          \
  OPERATION(relative_bias_backward, (const RelativeBiasBackwardArgs&))        \
  OPERATION(activation_forward, (const ActivationForwardArgs&))               \
  OPERATION(activation_backward, (const ActivationBackwardArgs&))             \
  OPERATION(embedding_forward, (const EmbeddingForwardArgs&))                 \
  OPERATION(embedding_backward, (const EmbeddingBackwardArgs&))               \
  OPERATION(one_hot, (const OneHotArgs&))                                     \
  OPERATION(cross_entropy, (const CrossEntropyArgs&))                         \
  OPERATION(cross_entropy_part, (const CrossEntropyPartArgs&))                \
  OPERATION(cross_entropy_whole, (const CrossEntropyWholeArgs&))              \
  OPERATION(score, (const ScoreArgs&))                                        \
  OPERATION(route_forward, (const RouteForwardArgs&))                         \
  OPERATION(route_backward, (const RouteBackwardArgs&))                       \
  OPERATION(dispatch, (const DispatchArgs&))                                  \
  OPERATION(combine, (const CombineArgs&))                                    \
  OPERATION(gates_backward, (const GatesBackwardArgs&))                       \
  OPERATION(expert_product, (const ExpertProductArgs&))                       \
  OPERATION(adamw, (const AdamwArgs&))                                        \
  OPERATION(clip_scale, (TensorView, TensorView, double))                     \
  OPERATION(add, (TensorView, TensorView, TensorView))                        \
  OPERATION(dropout, (const DropoutArgs&))                                    \
  OPERATION(sum_parts, (TensorView, TensorView))                              \
  OPERATION(copy, (TensorView, TensorView))                                   \
  OPERATION(cast_stochastic, (const StochasticCastArgs&))                     \
  OPERATION(quantize, (const QuantizeArgs&))                                  \
  OPERATION(update_scales, (const UpdateScalesArgs&))                         \
  OPERATION(fill, (TensorView, double))                                       \
  OPERATION(fill_normal, (const NormalArgs&))                                 \
  OPERATION(sum, (TensorView, TensorView, Write))                             \
  OPERATION(sum_of_squares, (TensorView, std::span<const TensorView>, Write)) \
  OPERATION(upload, (TensorView, const void*))
