// Begins a run with what another one saved, on whatever mesh that was.
#pragma once

#include <cstdint>

#include "engine/layers/fp8_scales.h"
#include "engine/sharding/parameter_store.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// `fp8` is null in another precision; what it looks back on begins anew where the checkpoint has none of it.
// Reads what this rank needs of the checkpoint that run.checkpoint.restore names: weights, and of what trains the
// moments; those that the checkpoint of imported weights lacks stay 0. Values of another type (an evaluation in bf16 of
// weights in f32) are rounded once to nearest even. Returns how many steps had been taken. Throws BadInput: there is
// none, it is damaged, or it is of another model; weights are as they were until all of a parameter has been read and
// found whole.
std::int64_t restore_checkpoint(const Context& context, const spec::RunSpec& run, const ParameterStore& store,
                                Fp8Scales* fp8);

}  // namespace perfbench::engine
