// Dropout of this rank's rows of the residual stream. The draws depend only on the run's seed, the step, the place in
// the model, the token's row in the step's global batch and the column. So every mesh, every microbatch, recomputation
// and the backward pass have the same draws, and no mask is kept.
#pragma once

#include <string>

#include "engine/layers/layer_shared.h"

namespace perfbench::engine {

// All use the draws of the current microbatch, and do nothing in a run without dropout. These work in place: on the
// output of the embeddings, on the input of a layer, and in the backward pass on their gradients.
void drop_input(const LayerShared& shared, TensorView x_RM);
void drop_layer_input(const LayerShared& shared, const std::string& layer, TensorView x_RM);
// Drops elements of what a block adds to the residual stream, in place.
void drop_addition(const LayerShared& shared, const std::string& block, TensorView x_RM);
// Returns the gradient of the block's result, given that of what it added: in `buffer`, which is allocated if needed.
TensorView drop_addition_backward(const LayerShared& shared, const std::string& block, TensorView dy_RM,
                                  Tensor& buffer);

}  // namespace perfbench::engine
