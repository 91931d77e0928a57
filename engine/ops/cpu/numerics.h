// Elementary functions and sums that vectorise, with the same bits wherever they are inlined.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace perfbench::engine::cpu {

// e^x by 2^n e^r, |r| <= ln2/2, a polynomial of degree 6 for e^r (Cody and Waite's reduction; minimax coefficients as
// in Cephes' expf). Relative error below 2^-22; tested. NaN stays NaN; below -87.3 the result is the smallest normal,
// about 0.
inline float exp_f32(float x) {
  constexpr float kLargest = 88.3762626647949F;
  constexpr float kSmallest = -87.3365447505531F;
  x = x > kLargest ? kLargest : x;
  x = x < kSmallest ? kSmallest : x;
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number in the low bits
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  float r = x - n * 0.693359375F;
  r = r - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
  return p * std::bit_cast<float>(exponent);
}

inline float sigmoid_f32(float x) {
  return 1.0F / (1.0F + exp_f32(-x));
}

// Sums run in 64 lanes which are then added in a fixed order: fast, more accurate than one chain, and reproducible.
inline constexpr std::int64_t kSumLanes = 64;

template <class Term>
float lane_sum(std::int64_t n, Term term) {
  std::array<float, kSumLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (std::int64_t j = 0; j < kSumLanes; ++j) lanes[static_cast<std::size_t>(j)] += term(i + j);
  }
  for (std::int64_t j = 0; i + j < n; ++j) lanes[static_cast<std::size_t>(j)] += term(i + j);
  for (std::int64_t width = kSumLanes / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) {
      lanes[static_cast<std::size_t>(j)] += lanes[static_cast<std::size_t>(j + width)];
    }
  }
  return lanes[0];
}

inline float row_max(const float* x, std::int64_t n) {
  std::array<float, kSumLanes> lanes;
  lanes.fill(x[0]);
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (std::int64_t j = 0; j < kSumLanes; ++j) {
      auto& lane = lanes[static_cast<std::size_t>(j)];
      lane = x[i + j] > lane ? x[i + j] : lane;
    }
  }
  float best = lanes[0];
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  for (const float lane : lanes) best = lane > best ? lane : best;
  return best;
}

}  // namespace perfbench::engine::cpu
