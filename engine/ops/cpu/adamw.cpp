// One pass over the optimizer's state: 28 bytes a parameter, so memory sets the pace.
#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"

namespace perfbench::engine::cpu {

void CpuOps::do_adamw(const AdamwArgs& args) {
  const auto b1 = static_cast<float>(args.beta1);
  const auto b2 = static_cast<float>(args.beta2);
  const auto rest1 = static_cast<float>(1.0 - args.beta1);
  const auto rest2 = static_cast<float>(1.0 - args.beta2);
  const auto scale = static_cast<float>(args.gradient_scale);
  const auto eps = static_cast<float>(args.eps);
  const auto step = static_cast<float>(args.learning_rate / args.bias_correction1);
  const auto root_correction = static_cast<float>(1.0 / std::sqrt(args.bias_correction2));
  const auto decay = static_cast<float>(args.learning_rate * args.weight_decay);
  for_ranges(args.weight.elements(), [&](std::int64_t begin, std::int64_t end) {
    float* const weight = args.weight.as<float>();
    const float* const gradient = args.gradient.as<const float>();
    float* const first = args.first_moment.as<float>();
    float* const second = args.second_moment.as<float>();
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float g = gradient[i] * scale;
      const float m = b1 * first[i] + rest1 * g;
      const float v = b2 * second[i] + rest2 * g * g;
      first[i] = m;
      second[i] = v;
      const float w = weight[i];
      weight[i] = w - (step * m / (std::sqrt(v) * root_correction + eps) + decay * w);
    }
  });
}

}  // namespace perfbench::engine::cpu
