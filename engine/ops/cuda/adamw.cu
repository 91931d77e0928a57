// One pass over the optimizer's state: 28 bytes a parameter, so memory sets the pace.
#include <cmath>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/flat.cuh"

namespace perfbench::engine::cuda {
namespace {

struct AdamwStep {
  float* weight;
  const float* gradient;
  float* first;
  float* second;
  std::int64_t elements;
  float b1, rest1;
  float b2, rest2;
  float eps;
  double weight_decay;
  const double* factors;  // by AdamwFactor
  Access access;
};

__global__ void adamw_kernel(AdamwStep s) {
  constexpr int N = kVector<float>;
  const double rate = s.factors[index(AdamwFactor::learning_rate)];
  const auto gradient_scale = static_cast<float>(s.factors[index(AdamwFactor::gradient_scale)]);
  const auto step = static_cast<float>(rate / s.factors[index(AdamwFactor::bias_correction1)]);
  const auto root_correction = static_cast<float>(1.0 / sqrt(s.factors[index(AdamwFactor::bias_correction2)]));
  const auto decay = static_cast<float>(rate * s.weight_decay);
  for_each_vector<N>(s.elements, [&](std::int64_t at, std::int64_t count) {
    float w[N], g[N], m[N], v[N];
    load(s.weight + at, count, s.access, w);
    load(s.gradient + at, count, s.access, g);
    load(s.first + at, count, s.access, m);
    load(s.second + at, count, s.access, v);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float scaled = g[i] * gradient_scale;
      m[i] = s.b1 * m[i] + s.rest1 * scaled;
      v[i] = s.b2 * v[i] + s.rest2 * scaled * scaled;
      w[i] = w[i] - (step * m[i] / (sqrtf(v[i]) * root_correction + s.eps) + decay * w[i]);
    }
    store(s.weight + at, count, s.access, w);
    store(s.first + at, count, s.access, m);
    store(s.second + at, count, s.access, v);
  });
}

__global__ void clip_scale_kernel(double* scale, const double* square_sum, double clip_norm) {
  const double wanted = clip_norm / (sqrt(*square_sum) + kClipNormFloor);
  *scale = clip_norm > 0 && wanted < 1.0 ? wanted : 1.0;
}

}  // namespace

void CudaOps::do_adamw(const AdamwArgs& args) {
  const std::int64_t elements = args.weight.elements();
  const AdamwStep step{
      .weight = args.weight.as<float>(),
      .gradient = args.gradient.as<const float>(),
      .first = args.first_moment.as<float>(),
      .second = args.second_moment.as<float>(),
      .elements = elements,
      .b1 = static_cast<float>(args.beta1),
      .rest1 = static_cast<float>(1.0 - args.beta1),
      .b2 = static_cast<float>(args.beta2),
      .rest2 = static_cast<float>(1.0 - args.beta2),
      .eps = static_cast<float>(args.eps),
      .weight_decay = args.weight_decay,
      .factors = args.factors.as<const double>(),
      .access =
          access_of({args.weight.data, args.gradient.data, args.first_moment.data, args.second_moment.data}, 0, 1)};
  launch("adamw", adamw_kernel, flat_shape(elements, kVector<float>, stream()), step);
}

void CudaOps::do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  launch("clip_scale", clip_scale_kernel, LaunchShape{.grid = 1, .block = 1, .stream = stream()}, scale.as<double>(),
         square_sum.as<const double>(), clip_norm);
}

}  // namespace perfbench::engine::cuda
