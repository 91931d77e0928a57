// Modes in which operations are called.
#pragma once

namespace perfbench::engine {

enum class Transpose { no, yes };
// accumulate: adds to the old contents of the output.
enum class Write { overwrite, accumulate };
// Whether products of the same shape will be added to an overwritten one. A backend that chooses algorithms by trial
// then tries both while the result has no contents yet.
enum class Additions { none, follow };
// The line of FlopCounts that a product belongs to.
enum class FlopPart { attention_projection, attention_score, feed_forward, unembedding, embedding };
// recompute: executed again for the backward pass; counted separately.
enum class Pass { first, recompute };
enum class Direction { forward, backward };
// A function applied to a product before it is rounded and written.
enum class Epilogue { none, gelu_tanh, gelu_tanh_gradient };

}  // namespace perfbench::engine
