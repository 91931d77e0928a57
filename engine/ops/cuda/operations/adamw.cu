// One pass over the optimizer's state: 28 bytes a parameter (8 less with moments in bf16, 2 less with gradients in
// bf16, 2 more with a bf16 weight), so it is limited by memory bandwidth.
#include <cmath>
#include <type_traits>

#include "engine/core/stochastic_rounding.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/operand_list.cuh"

namespace perfbench::engine::cuda {
namespace {

template <class Gradient, class Moment>
struct UpdatedTensor {
  float* weight;
  const Gradient* gradient;
  Moment* first;
  Moment* second;
  Bf16* rounded;  // or nullptr
  std::int64_t elements;
  double weight_decay;
  Access access;
  RngStream draws{0, ""};
  std::int64_t first_index = 0;
};

struct AdamwStep {
  float b1, rest1;
  float b2, rest2;
  float eps;
  const double* factors;     // by AdamwFactor
  const std::int32_t* step;  // or nullptr
};

// A moment as bf16, rounded stochastically.
__device__ inline float kept(float moment, std::uint32_t draw) {
  return __uint_as_float(static_cast<std::uint32_t>(stochastic_bf16(__float_as_uint(moment), draw)) << 16);
}
template <int N>
__device__ inline void round_moments(const RngStream& of_step, std::int64_t first_index, float (&m)[N], float (&v)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const std::int64_t element = first_index + i;
    const auto draws = moment_draws(of_step.bits(static_cast<std::uint64_t>(element / kMomentsPerWord)), element);
    m[i] = kept(m[i], draws.first);
    v[i] = kept(v[i], draws.second);
  }
}

// The factors that all elements of a tensor share in one step.
struct StepFactors {
  float gradient_scale;
  float step;             // the learning rate over the first moment's correction
  float root_correction;  // for the second moment
  float decay;
};
__device__ inline StepFactors step_factors(const double* factors, double weight_decay) {
  const double rate = factors[index(AdamwFactor::learning_rate)];
  return {static_cast<float>(factors[index(AdamwFactor::gradient_scale)]),
          static_cast<float>(rate / factors[index(AdamwFactor::bias_correction1)]),
          static_cast<float>(1.0 / sqrt(factors[index(AdamwFactor::bias_correction2)])),
          static_cast<float>(rate * weight_decay)};
}

template <class Gradient, class Moment>
__global__ void adamw_kernel(const __grid_constant__ OperandList<UpdatedTensor<Gradient, Moment>> tensors,
                             AdamwStep s) {
  constexpr int N = kVector<float>;
  const OperandBlock mine = operand_of_block(tensors);
  const UpdatedTensor<Gradient, Moment>& t = tensors.operands[mine.operand];
  // A division and a root in f64 take as long as many elements, so they are computed once for a block.
  PERFBENCH_SHARED(StepFactors, of_block, 1);
  if (threadIdx.x == 0) of_block[0] = step_factors(s.factors, t.weight_decay);
  __syncthreads();
  const StepFactors by = of_block[0];
  for_each_vector<N>(t.elements, mine.block, mine.blocks, [&](std::int64_t at, std::int64_t count) {
    float w[N], g[N], m[N], v[N];
    load(t.weight + at, count, t.access, w);
    load(t.gradient + at, count, t.access, g);
    load(t.first + at, count, t.access, m);
    load(t.second + at, count, t.access, v);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float scaled = g[i] * by.gradient_scale;
      m[i] = s.b1 * m[i] + s.rest1 * scaled;
      v[i] = s.b2 * v[i] + s.rest2 * scaled * scaled;
      w[i] = w[i] - (by.step * m[i] / (sqrtf(v[i]) * by.root_correction + s.eps) + by.decay * w[i]);
    }
    if constexpr (std::is_same_v<Moment, Bf16>) {
      round_moments(t.draws.at(static_cast<std::uint64_t>(*s.step)), t.first_index + at, m, v);
    }
    store(t.weight + at, count, t.access, w);
    store(t.first + at, count, t.access, m);
    store(t.second + at, count, t.access, v);
    if (t.rounded != nullptr) store(t.rounded + at, count, t.access, w);
  });
}

__global__ void clip_scale_kernel(double* scale, const double* square_sum, double clip_norm) {
  const double wanted = clip_norm / (sqrt(*square_sum) + kClipNormFloor);
  *scale = clip_norm > 0 && wanted < 1.0 ? wanted : 1.0;
}

template <class Gradient, class Moment>
UpdatedTensor<Gradient, Moment> updated(const AdamwTensor& t) {
  return {.weight = t.weight.as<float>(),
          .gradient = t.gradient.as<const Gradient>(),
          .first = t.first_moment.as<Moment>(),
          .second = t.second_moment.as<Moment>(),
          .rounded = t.bf16_weight.as<Bf16>(),
          .elements = t.weight.elements(),
          .weight_decay = t.weight_decay,
          .access = access_of(
              {t.weight.data, t.gradient.data, t.first_moment.data, t.second_moment.data, t.bf16_weight.data}, 0, 1),
          .draws = t.draws,
          .first_index = t.first_index};
}

template <class Gradient, class Moment>
void update(const AdamwArgs& args, const AdamwStep& step, cudaStream_t stream) {
  in_lists(args.tensors, [&](std::span<const AdamwTensor> part) {
    OperandList<UpdatedTensor<Gradient, Moment>> list;
    for (const auto& t : part) list.add(updated<Gradient, Moment>(t), flat_blocks(t.weight.elements(), kVector<float>));
    launch("adamw", adamw_kernel<Gradient, Moment>, {.grid = list.blocks(), .block = kFlatThreads, .stream = stream},
           list, step);
  });
}

}  // namespace

void CudaOps::do_adamw(const AdamwArgs& args) {
  const AdamwStep step{.b1 = static_cast<float>(args.beta1),
                       .rest1 = static_cast<float>(1.0 - args.beta1),
                       .b2 = static_cast<float>(args.beta2),
                       .rest2 = static_cast<float>(1.0 - args.beta2),
                       .eps = static_cast<float>(args.eps),
                       .factors = args.factors.as<const double>(),
                       .step = args.step.as<const std::int32_t>()};
  if (args.tensors.empty()) return;
  with_element_type(args.tensors.front().gradient.dtype, [&]<class Gradient>() {
    with_element_type(args.tensors.front().first_moment.dtype,
                      [&]<class Moment>() { update<Gradient, Moment>(args, step, stream()); });
  });
}

void CudaOps::do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  launch("clip_scale", clip_scale_kernel, LaunchShape{.grid = 1, .block = 1, .stream = stream()}, scale.as<double>(),
         square_sum.as<const double>(), clip_norm);
}

}  // namespace perfbench::engine::cuda
