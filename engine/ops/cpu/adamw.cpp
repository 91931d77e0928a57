#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"

namespace perfbench::engine {

void CpuOps::do_adamw(const AdamwArgs& args) {
  const std::int64_t n = args.weight.elements();
  float* w = args.weight.as<float>();
  const float* gradient = args.gradient.as<float>();
  float* first = args.first_moment.as<float>();
  float* second = args.second_moment.as<float>();
  const auto b1 = static_cast<float>(args.beta1);
  const auto b2 = static_cast<float>(args.beta2);
  const auto scale = static_cast<float>(args.gradient_scale);
  const auto rate = static_cast<float>(args.learning_rate / args.bias_correction1);
  const auto root_scale = static_cast<float>(1.0 / std::sqrt(args.bias_correction2));
  const auto eps = static_cast<float>(args.eps);
  const auto decay = static_cast<float>(args.learning_rate * args.weight_decay);
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * scale;
    const float m = b1 * first[i] + (1.0F - b1) * g;
    const float v = b2 * second[i] + (1.0F - b2) * g * g;
    first[i] = m;
    second[i] = v;
    w[i] -= rate * m / (std::sqrt(v) * root_scale + eps) + decay * w[i];
  }
}

}  // namespace perfbench::engine
