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
  float gradient_scale;
  float step;
  float root_correction;
  float eps;
  float decay;
  Access access;
};

__global__ void adamw_kernel(AdamwStep s) {
  constexpr int N = kVector<float>;
  for_each_vector<N>(s.elements, [&](std::int64_t at, std::int64_t count) {
    float w[N], g[N], m[N], v[N];
    load(s.weight + at, count, s.access, w);
    load(s.gradient + at, count, s.access, g);
    load(s.first + at, count, s.access, m);
    load(s.second + at, count, s.access, v);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float scaled = g[i] * s.gradient_scale;
      m[i] = s.b1 * m[i] + s.rest1 * scaled;
      v[i] = s.b2 * v[i] + s.rest2 * scaled * scaled;
      w[i] = w[i] - (s.step * m[i] / (sqrtf(v[i]) * s.root_correction + s.eps) + s.decay * w[i]);
    }
    store(s.weight + at, count, s.access, w);
    store(s.first + at, count, s.access, m);
    store(s.second + at, count, s.access, v);
  });
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
      .gradient_scale = static_cast<float>(args.gradient_scale),
      .step = static_cast<float>(args.learning_rate / args.bias_correction1),
      .root_correction = static_cast<float>(1.0 / std::sqrt(args.bias_correction2)),
      .eps = static_cast<float>(args.eps),
      .decay = static_cast<float>(args.learning_rate * args.weight_decay),
      .access =
          access_of({args.weight.data, args.gradient.data, args.first_moment.data, args.second_moment.data}, 0, 1)};
  launch("adamw", adamw_kernel, flat_shape(elements, kVector<float>, stream()), step);
}

}  // namespace perfbench::engine::cuda
