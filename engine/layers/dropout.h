// Dropout of this rank's rows of the residual stream. What is drawn follows from the run's seed, the step, the place in
// the model, the token's row in the step's global batch and the column: on every mesh, in every microbatch, whenever it
// is computed again, and for the gradient on its way back, so no mask is kept.
#pragma once

#include <string>

#include "engine/layers/layer_shared.h"

namespace perfbench::engine {

// All by the draws of the microbatch at hand, and nothing where nothing is dropped. In place: what the embeddings
// begin, what comes to a layer, and on the way back the gradients by them.
void drop_input(const LayerShared& shared, TensorView x_RM);
void drop_layer_input(const LayerShared& shared, const std::string& layer, TensorView x_RM);
// What a block adds to the residual stream, in place.
void drop_addition(const LayerShared& shared, const std::string& block, TensorView x_RM);
// The gradient by what the block computed, from that by what it added: in `buffer`, which is made where it is needed.
TensorView drop_addition_backward(const LayerShared& shared, const std::string& block, TensorView dy_RM,
                                  Tensor& buffer);

}  // namespace perfbench::engine
