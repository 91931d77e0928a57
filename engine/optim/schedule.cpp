#include "engine/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "workloads/spec/optimizer_spec.h"

namespace perfbench::engine {

double learning_rate(const spec::OptimizerSpec& optimizer, std::int64_t step) {
  const double peak = optimizer.learning_rate;
  if (step < optimizer.warmup_steps) {
    return peak * static_cast<double>(step + 1) / static_cast<double>(optimizer.warmup_steps);
  }
  if (optimizer.decay_steps == 0) return peak;
  const auto span = static_cast<double>(optimizer.decay_steps - optimizer.warmup_steps);
  const auto done = static_cast<double>(step - optimizer.warmup_steps);
  const double progress = span > 0 ? std::clamp(done / span, 0.0, 1.0) : 1.0;
  const double ratio = optimizer.min_lr_ratio;
  return peak * (ratio + (1.0 - ratio) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress)));
}

}  // namespace perfbench::engine
