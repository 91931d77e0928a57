// The operations of a layer of experts: which experts a token goes to, how its row gets there and back, and the
// experts' products.
//
// Letters in addition to those of ops.h: E experts of the model, divided over P parts (ranks) of X = E/P each; C
// choices of a token (top-k). Choice c of token n has number n*C + c. Rows on their way to experts lie in P parts of S
// each: Q = P*S. On the other side, where an expert's rows come together, there is a part for each rank that they came
// from.
#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "engine/ops/operation_modes.h"

namespace perfbench::engine {

// Decides which choices get a row, and where.
struct RoutingRule {
  std::int64_t parts = 1;
  std::int64_t part_rows = 0;
  // From each group of `group_tokens` neighbours an expert takes this many choices and drops the others: its rows begin
  // at (e % X * groups + group) * slots of its part, used or not, and X * groups * slots = S. 0: an expert takes all
  // choices, and its rows follow those of the previous expert. Choices beyond the size of the part are dropped.
  std::int64_t slots = 0;
  std::int64_t group_tokens = 0;
  bool dropless() const { return slots == 0; }  // except for choices beyond the size of the part
  // The order in which choices get rows: token by token with all its choices, or all tokens' first choices, then their
  // second ones.
  enum class Order { by_token, by_choice } order = Order::by_token;
  std::int64_t seq_len = 0;
  // How many of a token's choices, from the first, count in the balance of the load.
  std::int64_t balance_choices = 1;
};

// A token chooses the C experts with the largest logits, among equal ones the first; gates are the softmax over the
// chosen. balance[b] = E * sum over experts of f_e p_e for sequence b. f_e is the number of its tokens' first
// `balance_choices` choices that are e, over T; p_e is the mean of e's probability over its tokens, the softmax over
// all experts. Lepikhin et al., "GShard", arXiv:2006.16668, algorithm 1; Jiang et al., "Mixtral of Experts",
// arXiv:2401.04088.
struct RouteForwardArgs {
  TensorView logits_NE;    // f32
  TensorView gates_NC;     // f32
  TensorView experts_NC;   // i32
  TensorView rows_NC;      // i32: the choice's row of Q, -1 if it was dropped
  TensorView choices_Q;    // i32: the row's choice, -1 if the row is unused
  TensorView segments_E2;  // i32: the expert's first row in its part and its number of rows (with slots: all of them)
  // Only in the first pass: either all three or none.
  TensorView balance_B;  // f32
  TensorView load_B;     // f32: choices of the expert that the sequence chose most, relative to an equal share, T*C/E
  TensorView dropped_E;  // f32: choices
  RoutingRule rule;
};

// dlogits = the gradient of the logits, from dgates and from balance_scale * (sum of balance).
struct RouteBackwardArgs {
  TensorView dlogits_NE;  // f32 or bf16
  TensorView dgates_NC;   // f32
  TensorView logits_NE;   // f32
  TensorView gates_NC;    // f32
  TensorView experts_NC;  // i32
  double balance_scale = 0;
  RoutingRule rule;
};

// rows[q] = (gate *) x of the token whose choice fills the row; 0 in unused rows.
struct DispatchArgs {
  TensorView rows_QM;
  TensorView x_NM;
  TensorView choices_Q;                // i32
  TensorView gates_NC;                 // f32; undefined: 1
  std::int64_t choices_per_token = 1;  // C
};

// x[n] (+)= sum of (gate *) rows[row] over the token's choices that were not dropped, in their order; in f32, rounded
// once.
struct CombineArgs {
  TensorView x_NM;
  TensorView rows_QM;
  TensorView rows_NC;   // i32
  TensorView gates_NC;  // f32; undefined: 1
  Write write = Write::overwrite;
};

// dgates[n, c] = sum over M of dx[n] * rows[row]; 0 for a choice that was dropped.
struct GatesBackwardArgs {
  TensorView dgates_NC;  // f32
  TensorView dx_NM;
  TensorView rows_QM;
  TensorView rows_NC;  // i32
};

// Products of each expert with its rows, a segment of each part. Weights are [X, O, I], rows [Q, I] and [Q, O]:
//   forward:          c[Q, O] (+)= a[Q, I] W^T          b = W
//   input_gradient:   c[Q, I] (+)= a[Q, O] W            b = W
//   weight_gradient:  c[X, O, I] (+)= a[Q, O]^T b[Q, I]   f32, over the parts in their order
// Rows outside all segments become 0 if c is overwritten, and stay the same if c is added to. a and b share a type, and
// rows of c have it too. Accumulation is in fp32.
struct ExpertProductArgs {
  enum class Kind { forward, input_gradient, weight_gradient } kind = Kind::forward;
  TensorView a;
  TensorView b;
  TensorView c;
  TensorView segments_PX2;  // i32: first row in the part, number of rows
  // All segments have this many rows, expert after expert without gaps; 0: segments_PX2 gives them.
  std::int64_t slots = 0;
  // The rows for which FLOPs are counted: those of all segments; if their number varies, its mean over the ranks.
  std::int64_t counted_rows = 0;
  Write write = Write::overwrite;
  Additions additions = Additions::none;
};

}  // namespace perfbench::engine
