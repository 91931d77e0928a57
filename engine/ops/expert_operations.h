// The operations of a layer of experts: which of them a token goes to, how its row gets there and back, and their
// products.
//
// Letters beside those of ops.h: E experts of the model, divided over P parts (ranks) of X = E/P each; C choices of a
// token (top-k). Choice c of token n has number n*C + c. Rows on their way to experts lie in P parts of S each: Q =
// P*S. On the other side, where an expert's rows come together, the parts are those of the ranks that they came from.
#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "engine/ops/operation_modes.h"

namespace perfbench::engine {

// Which choices get a row, and where.
struct RoutingRule {
  std::int64_t parts = 1;
  std::int64_t part_rows = 0;
  // Of each group of `group_tokens` neighbours an expert takes this many choices, and drops the others: its rows begin
  // at (e % X * groups + group) * slots of its part, used or not, and X * groups * slots = S. 0: an expert takes all;
  // its rows follow those of the expert before it. What no longer fits into the part is dropped.
  std::int64_t slots = 0;
  std::int64_t group_tokens = 0;
  bool dropless() const { return slots == 0; }  // but for the part
  // Who comes first: token after token with all its choices, or all tokens' first choices, then their second ones.
  enum class Order { by_token, by_choice } order = Order::by_token;
  std::int64_t seq_len = 0;
  // Of a token's choices how many, the first ones, the balance of the load looks at.
  std::int64_t balance_choices = 1;
};

// A token chooses the C experts of the largest logits, of equal ones the first; gates are the softmax over the chosen.
// balance[b] = E * sum over experts of f_e p_e for sequence b: f_e is the number of its tokens' first `balance_choices`
// choices that are e, over T; p_e the mean of e's probability over its tokens, the softmax over all experts.
// Lepikhin et al., "GShard", arXiv:2006.16668, algorithm 1; Jiang et al., "Mixtral of Experts", arXiv:2401.04088.
struct RouteForwardArgs {
  TensorView logits_NE;    // f32
  TensorView gates_NC;     // f32
  TensorView experts_NC;   // i32
  TensorView rows_NC;      // i32: the choice's row of Q, -1 of one that was dropped
  TensorView choices_Q;    // i32: the row's choice, -1 of one that is not used
  TensorView segments_E2;  // i32: the expert's first row in its part, and how many it has, with slots all of them
  // What the first pass alone is asked: all of it or nothing.
  TensorView balance_B;  // f32
  TensorView load_B;     // f32: choices of the expert that the sequence chose most, over an equal share, T*C/E
  TensorView dropped_E;  // f32: choices
  RoutingRule rule;
};

// dlogits = gradient by the logits, of dgates and of balance_scale * (sum of balance).
struct RouteBackwardArgs {
  TensorView dlogits_NE;  // f32 or bf16
  TensorView dgates_NC;   // f32
  TensorView logits_NE;   // f32
  TensorView gates_NC;    // f32
  TensorView experts_NC;  // i32
  double balance_scale = 0;
  RoutingRule rule;
};

// rows[q] = (gate *) x of the token whose choice fills the row; 0 in rows that are not used.
struct DispatchArgs {
  TensorView rows_QM;
  TensorView x_NM;
  TensorView choices_Q;                // i32
  TensorView gates_NC;                 // f32; undefined: 1
  std::int64_t choices_per_token = 1;  // C
};

// x[n] (+)= sum over the token's choices that were not dropped, in their order, of (gate *) rows[row]; in f32, rounded
// once.
struct CombineArgs {
  TensorView x_NM;
  TensorView rows_QM;
  TensorView rows_NC;   // i32
  TensorView gates_NC;  // f32; undefined: 1
  Write write = Write::overwrite;
};

// dgates[n, c] = sum over M of dx[n] * rows[row]; 0 of a choice that was dropped.
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
// Rows of no segment are 0 where c is overwritten, and stay as they are where it is added to. a and b share a type,
// rows of c have it too. Accumulation in fp32.
struct ExpertProductArgs {
  enum class Kind { forward, input_gradient, weight_gradient } kind = Kind::forward;
  TensorView a;
  TensorView b;
  TensorView c;
  TensorView segments_PX2;  // i32: first row in the part, rows
  // All segments have this many rows, expert after expert, with none between them; 0: as they say.
  std::int64_t slots = 0;
  // What the call counts as: rows of all segments, where they vary their mean over the ranks.
  std::int64_t counted_rows = 0;
  Write write = Write::overwrite;
  Additions additions = Additions::none;
};

}  // namespace perfbench::engine
