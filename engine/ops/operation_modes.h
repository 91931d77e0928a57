// The ways in which operations are called.
#pragma once

namespace perfbench::engine {

enum class Transpose { no, yes };
// accumulate: adds to what the output holds.
enum class Write { overwrite, accumulate };
// Whether products of the same shape will be added to what one overwrites: who chooses algorithms by trial then tries
// both while the result holds nothing yet.
enum class Additions { none, follow };
// Which line of FlopCounts a product belongs to.
enum class FlopPart { attention_projection, attention_score, feed_forward, unembedding, embedding };
// recompute: executed again for the backward pass; counted apart.
enum class Pass { first, recompute };
enum class Direction { forward, backward };
// What becomes of a product before it is rounded and written.
enum class Epilogue { none, gelu_tanh, gelu_tanh_gradient };

}  // namespace perfbench::engine
