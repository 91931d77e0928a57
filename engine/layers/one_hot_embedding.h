// The token embedding as products with one-hot rows (spec::EmbeddingKind::one_hot), in chunks of loss_chunk_tokens
// rows: these are as large as logits. The arguments are those of the lookup (Ops::embedding_forward,
// embedding_backward). The forward pass has the same bits as the lookup if products are exact: a row of the table is
// multiplied by 1 and added to zeros. (tf32 rounds it.) The backward pass adds a token's gradients in the order of the
// product.
#pragma once

#include "engine/layers/layer_shared.h"

namespace perfbench::engine {

void one_hot_embedding_forward(const LayerShared& shared, const EmbeddingForwardArgs& args);
void one_hot_embedding_backward(const LayerShared& shared, const EmbeddingBackwardArgs& args);

}  // namespace perfbench::engine
