#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/numerics.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {

void CpuOps::do_cross_entropy(const CrossEntropyArgs& args) {
  const std::int64_t v = args.logits_NV.shape[1];
  const auto* targets = args.targets_N.as<std::int32_t>();
  float* losses = args.losses_N.as<float>();
  const auto scale = static_cast<float>(args.gradient_scale);
#pragma omp parallel
  {
    std::vector<float> buffer;
#pragma omp for
    for (std::int64_t row = 0; row < args.logits_NV.shape[0]; ++row) {
      float* logits = cpu::change_row(args.logits_NV, row, v, buffer);
      const float largest = cpu::row_max(logits, v);
      const float target = logits[targets[row]];
      const float sum = cpu::lane_sum(v, [logits, largest](std::int64_t i) {
        const float e = cpu::exp_f32(logits[i] - largest);
        logits[i] = e;
        return e;
      });
      losses[row] = std::log(sum) + largest - target;
      const float factor = scale / sum;
      for (std::int64_t i = 0; i < v; ++i) logits[i] *= factor;
      logits[targets[row]] -= scale;
      cpu::finish_row(args.logits_NV, row, v, buffer);
    }
  }
}

}  // namespace perfbench::engine
