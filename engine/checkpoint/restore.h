// Starts a run from the checkpoint of another run, whatever mesh saved it.
#pragma once

#include <cstdint>

#include "engine/layers/fp8_scales.h"
#include "engine/sharding/parameter_store.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// `fp8` is null in other precisions; its histories start empty if the checkpoint has none. Reads what this rank needs
// of the checkpoint named by run.checkpoint.restore: the weights, and the moments of parameters that train. Moments
// that a checkpoint of imported weights lacks stay 0. Values of another type (an evaluation in bf16 of weights in f32)
// are rounded once to nearest even. Returns the number of steps that had been taken. Throws BadInput if there is no
// checkpoint, if it is damaged, or if it is of another model; weights of a parameter are overwritten only after all of
// it has been read and verified.
std::int64_t restore_checkpoint(const Context& context, const spec::RunSpec& run, const ParameterStore& store,
                                Fp8Scales* fp8);

}  // namespace perfbench::engine
