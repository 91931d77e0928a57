// The token embedding by products with one-hot rows (spec::EmbeddingKind::one_hot), loss_chunk_tokens of them at once:
// as wide as logits, and as many. The arguments are those of the lookup (Ops::embedding_forward, embedding_backward),
// whose bits the forward pass has where products are exact: a row of the table is multiplied by 1 and added to zeros.
// (tf32 rounds it.) The backward pass adds gradients of a token in the order of the product.
#pragma once

#include "engine/layers/layer_shared.h"

namespace perfbench::engine {

void one_hot_embedding_forward(const LayerShared& shared, const EmbeddingForwardArgs& args);
void one_hot_embedding_backward(const LayerShared& shared, const EmbeddingBackwardArgs& args);

}  // namespace perfbench::engine
