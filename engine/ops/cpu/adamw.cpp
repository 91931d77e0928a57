// One pass over the optimizer's state: 28 bytes a parameter, so memory sets the pace.
#include <algorithm>
#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"

namespace perfbench::engine::cpu {

void CpuOps::do_adamw(const AdamwArgs& args) {
  const auto factor = [&](AdamwFactor f) { return args.factors.as<const double>()[index(f)]; };
  const double rate = factor(AdamwFactor::learning_rate);
  const auto b1 = static_cast<float>(args.beta1);
  const auto b2 = static_cast<float>(args.beta2);
  const auto rest1 = static_cast<float>(1.0 - args.beta1);
  const auto rest2 = static_cast<float>(1.0 - args.beta2);
  const auto scale = static_cast<float>(factor(AdamwFactor::gradient_scale));
  const auto eps = static_cast<float>(args.eps);
  const auto step = static_cast<float>(rate / factor(AdamwFactor::bias_correction1));
  const auto root_correction = static_cast<float>(1.0 / std::sqrt(factor(AdamwFactor::bias_correction2)));
  for (const auto& tensor : args.tensors) {
    const auto decay = static_cast<float>(rate * tensor.weight_decay);
    for_ranges(tensor.weight.elements(), [&](std::int64_t begin, std::int64_t end) {
      float* const weight = tensor.weight.as<float>();
      const float* const gradient = tensor.gradient.as<const float>();
      float* const first = tensor.first_moment.as<float>();
      float* const second = tensor.second_moment.as<float>();
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
}

void CpuOps::do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  const double norm = std::sqrt(*square_sum.as<const double>());
  *scale.as<double>() = clip_norm > 0 ? std::min(1.0, clip_norm / (norm + kClipNormFloor)) : 1.0;
}

}  // namespace perfbench::engine::cpu
