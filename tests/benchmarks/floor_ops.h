// The least time that a step can take on this machine: the schedule of the engine, walked with operations that do only
// what no implementation can avoid. These are every matrix product at its shape by oneDNN, the optimizer's pass over
// its states, and one pass over the operands of everything else, with the exponentials of the softmaxes and
// activations.
#pragma once

#include <memory>

#include "engine/ops/ops.h"

namespace perfbench::engine {

std::unique_ptr<Ops> make_floor_ops();

}  // namespace perfbench::engine
