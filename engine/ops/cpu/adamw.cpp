// One pass over the optimizer's state: 28 bytes a parameter (8 less with moments in bf16, 2 less with gradients in
// bf16, 2 more with a bf16 weight), so it is limited by memory bandwidth.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "engine/core/stochastic_rounding.h"
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

// Moments are rounded in blocks of this many elements, whose draws are then contiguous.
constexpr std::int64_t kBlock = 64;

// The draws for elements from `from` on, which is even: moment_draws of from + i are at 2 i and 2 i + 1.
struct BlockOfDraws {
  BlockOfDraws(const RngStream& stream, std::int64_t from) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::int64_t kWords = kBlock / kMomentsPerWord + 1;  // a block may begin in the middle of a word
    std::uint64_t words[kWords];
    const auto first = static_cast<std::uint64_t>(from / kMomentsPerWord);
    for (std::int64_t i = 0; i < kWords; ++i) words[i] = stream.bits(first + static_cast<std::uint64_t>(i));
    static_assert(sizeof words == sizeof at);
    std::memcpy(at, words, sizeof words);
  }
  std::uint16_t at[2 * (kBlock + kMomentsPerWord)];
};

inline Bf16 rounded_by_chance(float x, std::uint16_t draw) {
  return {stochastic_bf16(std::bit_cast<std::uint32_t>(x), draw)};
}

// kRounds: the tensor has a bf16 weight. `draws`: two for each element, for moments in bf16.
template <bool kRounds, class Gradient, class Moment>
void update(const AdamwTensor& tensor, const AdamwStep& s, std::int64_t begin, std::int64_t end,
            const std::uint16_t* draws) {
  float* const weight = tensor.weight.as<float>();
  const auto* const gradient = tensor.gradient.as<const Gradient>();
  auto* const first = tensor.first_moment.as<Moment>();
  auto* const second = tensor.second_moment.as<Moment>();
  Bf16* const rounded = tensor.bf16_weight.as<Bf16>();
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = to_f32(gradient[i]) * s.scale;
    const float m = s.b1 * to_f32(first[i]) + s.rest1 * g;
    const float v = s.b2 * to_f32(second[i]) + s.rest2 * g * g;
    if constexpr (std::is_same_v<Moment, float>) {
      first[i] = m;
      second[i] = v;
    } else {
      first[i] = rounded_by_chance(m, draws[2 * (i - begin)]);
      second[i] = rounded_by_chance(v, draws[2 * (i - begin) + 1]);
    }
    const float w = weight[i];
    const float updated = w - (s.step * m / (std::sqrt(v) * s.root_correction + s.eps) + s.decay * w);
    weight[i] = updated;
    if constexpr (kRounds) rounded[i] = from_f32<Bf16>(updated);
  }
}

template <bool kRounds, class Gradient>
void update(const AdamwTensor& tensor, const AdamwStep& s, std::int64_t begin, std::int64_t end,
            const RngStream& draws_of_step) {
  if (tensor.first_moment.dtype == DType::f32) return update<kRounds, Gradient, float>(tensor, s, begin, end, nullptr);
  for (std::int64_t block = begin; block < end; block += kBlock) {
    const std::int64_t from = tensor.first_index + block;
    const std::int64_t odd = from % kMomentsPerWord;
    const BlockOfDraws draws(draws_of_step, from - odd);
    update<kRounds, Gradient, Bf16>(tensor, s, block, std::min(end, block + kBlock), draws.at + 2 * odd);
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
    const auto number = args.step.defined() ? *args.step.as<const std::int32_t>() : 0;
    const RngStream draws = tensor.draws.at(static_cast<std::uint64_t>(number));
    for_ranges(tensor.weight.elements(), [&](std::int64_t begin, std::int64_t end) {
      with_element_type(tensor.gradient.dtype, [&]<class Gradient>() {
        if (tensor.bf16_weight.defined()) {
          update<true, Gradient>(tensor, step, begin, end, draws);
        } else {
          update<false, Gradient>(tensor, step, begin, end, draws);
        }
      });
    });
  }
}

void CpuOps::do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  const double norm = std::sqrt(*square_sum.as<const double>());
  *scale.as<double>() = clip_norm > 0 ? std::min(1.0, clip_norm / (norm + kClipNormFloor)) : 1.0;
}

}  // namespace perfbench::engine::cpu
