// The learning rate of each step.
#pragma once

#include <cstdint>

namespace perfbench::spec {
struct OptimizerSpec;
}

namespace perfbench::engine {

// Steps count from 0. A linear warm-up learning_rate*(step+1)/warmup_steps, then a cosine to min_lr_ratio*learning_rate
// at decay_steps, constant afterwards (Loshchilov, Hutter, "SGDR", 2017, one cycle).
double learning_rate(const spec::OptimizerSpec& optimizer, std::int64_t step);

}  // namespace perfbench::engine
