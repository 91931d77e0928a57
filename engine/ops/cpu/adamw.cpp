// One pass over the optimizer's state: 28 bytes a parameter (30 with its bf16 weight), so memory sets the pace.
#include <algorithm>
#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/element_type.h"
#include "engine/ops/cpu/parallel.h"

namespace perfbench::engine::cpu {
namespace {

struct AdamwStep {
  float b1, rest1;
  float b2, rest2;
  float scale;
  float eps;
  float step;
  float root_correction;
  float decay;
};

// kRounds: the tensor has a bf16 weight.
template <bool kRounds>
void update(const AdamwTensor& tensor, const AdamwStep& s, std::int64_t begin, std::int64_t end) {
  float* const weight = tensor.weight.as<float>();
  const float* const gradient = tensor.gradient.as<const float>();
  float* const first = tensor.first_moment.as<float>();
  float* const second = tensor.second_moment.as<float>();
  Bf16* const rounded = tensor.bf16_weight.as<Bf16>();
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * s.scale;
    const float m = s.b1 * first[i] + s.rest1 * g;
    const float v = s.b2 * second[i] + s.rest2 * g * g;
    first[i] = m;
    second[i] = v;
    const float w = weight[i];
    const float updated = w - (s.step * m / (std::sqrt(v) * s.root_correction + s.eps) + s.decay * w);
    weight[i] = updated;
    if constexpr (kRounds) rounded[i] = from_f32<Bf16>(updated);
  }
}

}  // namespace

void CpuOps::do_adamw(const AdamwArgs& args) {
  const auto factor = [&](AdamwFactor f) { return args.factors.as<const double>()[index(f)]; };
  const double rate = factor(AdamwFactor::learning_rate);
  AdamwStep step{.b1 = static_cast<float>(args.beta1),
                 .rest1 = static_cast<float>(1.0 - args.beta1),
                 .b2 = static_cast<float>(args.beta2),
                 .rest2 = static_cast<float>(1.0 - args.beta2),
                 .scale = static_cast<float>(factor(AdamwFactor::gradient_scale)),
                 .eps = static_cast<float>(args.eps),
                 .step = static_cast<float>(rate / factor(AdamwFactor::bias_correction1)),
                 .root_correction = static_cast<float>(1.0 / std::sqrt(factor(AdamwFactor::bias_correction2)))};
  for (const auto& tensor : args.tensors) {
    step.decay = static_cast<float>(rate * tensor.weight_decay);
    for_ranges(tensor.weight.elements(), [&](std::int64_t begin, std::int64_t end) {
      if (tensor.bf16_weight.defined()) {
        update<true>(tensor, step, begin, end);
      } else {
        update<false>(tensor, step, begin, end);
      }
    });
  }
}

void CpuOps::do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  const double norm = std::sqrt(*square_sum.as<const double>());
  *scale.as<double>() = clip_norm > 0 ? std::min(1.0, clip_norm / (norm + kClipNormFloor)) : 1.0;
}

}  // namespace perfbench::engine::cpu
