// Draws from named streams: for rounding, and normal deviates. The latter compute RngStream::normal with vector
// polynomials in f64 instead of the C library's log and cos, whose results differ between libraries. They are within 4
// units in the last place of f64 of it. So they are equal after rounding to f32, except if the value is within 2^-27 of
// a rounding boundary, and then they differ by one unit of f32. Draws are a pure function of the index: lanes are
// computed in the same way whatever range is requested.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/core/stochastic_rounding.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"

namespace perfbench::engine::cpu {
namespace {

constexpr int kWide = 8;  // f64 lanes

// log x for normal x > 0: x = 2^e m, sqrt(1/2) <= m < sqrt 2; log m = 2 artanh(s), s = (m - 1)/(m + 1), |s| < 0.1716.
inline double log_positive(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kRootHalf = 0x3FE6A09E667F3BCDULL;
  const auto shifted = bits - kRootHalf;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  // 1.5 * 2^52 holds the integer exactly in its low bits: every vector unit can convert in this way.
  const double e = std::bit_cast<double>(0x4338000000000000ULL + static_cast<std::uint64_t>(exponent)) - 0x1.8p52;
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  double p = 1.0 / 21.0;
  p = p * t + 1.0 / 19.0;
  p = p * t + 1.0 / 17.0;
  p = p * t + 1.0 / 15.0;
  p = p * t + 1.0 / 13.0;
  p = p * t + 1.0 / 11.0;
  p = p * t + 1.0 / 9.0;
  p = p * t + 1.0 / 7.0;
  p = p * t + 1.0 / 5.0;
  p = p * t + 1.0 / 3.0;
  constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 11 zero bits at the end: e * kLn2High is exact
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  return e * kLn2High + (2.0 * s + (2.0 * s * t * p + e * kLn2Low));
}

// cos(2 pi u), 0 <= u < 1: u = q/4 + r exactly, |r| <= 1/8; Taylor series of sine and cosine of 2 pi r.
inline double cos_turns(double u) {
  const double shifted = u * 4.0 + 0x1.8p52;
  const auto quadrant = std::bit_cast<std::uint64_t>(shifted) & 3U;
  const double x = (u - (shifted - 0x1.8p52) * 0.25) * 6.283185307179586477;
  const double t = x * x;
  double c = 1.0 / 20922789888000.0;
  c = c * t - 1.0 / 87178291200.0;
  c = c * t + 1.0 / 479001600.0;
  c = c * t - 1.0 / 3628800.0;
  c = c * t + 1.0 / 40320.0;
  c = c * t - 1.0 / 720.0;
  c = c * t + 1.0 / 24.0;
  c = c * t - 0.5;
  c = c * t + 1.0;
  double s = -1.0 / 1307674368000.0;
  s = s * t + 1.0 / 6227020800.0;
  s = s * t - 1.0 / 39916800.0;
  s = s * t + 1.0 / 362880.0;
  s = s * t - 1.0 / 5040.0;
  s = s * t + 1.0 / 120.0;
  s = s * t - 1.0 / 6.0;
  s = s * t * x + x;
  // cos(x + q pi/2): cos x, -sin x, -cos x, sin x.
  const double value = (quadrant & 1U) != 0 ? s : c;
  const auto flip = ((quadrant + 1U) & 2U) << 62;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ flip);
}

// (b + 0.5) * 2^-32 for a 32-bit b.
inline double unit(std::uint64_t b) {
  return ((std::bit_cast<double>(0x4330000000000000ULL | b) - 0x1p52) + 0.5) * 0x1p-32;
}

struct Normals {
  RngStream stream;
  double mean;
  double std;

  // Never inlined, so that the tail of a range runs the same instructions as its body.
  [[gnu::noinline]] void eight(std::uint64_t first, float* out) const {
    double u1[kWide];
    double u2[kWide];
    for (int i = 0; i < kWide; ++i) {
      const std::uint64_t b = stream.bits(first + static_cast<std::uint64_t>(i));
      u1[i] = unit(b >> 32);
      u2[i] = unit(b & 0xFFFFFFFFULL);
    }
#pragma omp simd
    for (int i = 0; i < kWide; ++i) {
      out[i] = static_cast<float>(mean + std * (std::sqrt(-2.0 * log_positive(u1[i])) * cos_turns(u2[i])));
    }
  }

  void fill(std::uint64_t first, float* out, std::int64_t count) const {
    std::int64_t i = 0;
    for (; i + kWide <= count; i += kWide) eight(first + static_cast<std::uint64_t>(i), out + i);
    if (i == count) return;
    float last[kWide];
    eight(first + static_cast<std::uint64_t>(i), last);
    std::memcpy(out + i, last, static_cast<std::size_t>(count - i) * sizeof(float));
  }
};

}  // namespace

// Computed for a block of words at a time, so that draws are contiguous.
void CpuOps::do_cast_stochastic(const StochasticCastArgs& args) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::int64_t kWords = 16;
  constexpr std::int64_t kDraws = kWords * kDrawsPerWord;
  const auto stream = RngStream(args.seed, args.stream).at(static_cast<std::uint64_t>(*args.step.as<std::int32_t>()));
  const auto first_word = static_cast<std::uint64_t>(args.first_index / kDrawsPerWord);
  for_ranges(args.out.elements(), [&](std::int64_t begin, std::int64_t end) {
    const auto* const in = args.in.as<const std::uint32_t>();
    auto* const out = args.out.as<std::uint16_t>();
    for (std::int64_t block = begin; block < end; block += kDraws) {
      std::uint64_t words[kWords];
      std::uint16_t draws[kDraws];
      const auto word = first_word + static_cast<std::uint64_t>(block / kDrawsPerWord);
      for (std::int64_t i = 0; i < kWords; ++i) words[i] = stream.bits(word + static_cast<std::uint64_t>(i));
      std::memcpy(draws, words, sizeof draws);
      const std::int64_t count = std::min(kDraws, end - block);
      for (std::int64_t i = 0; i < count; ++i) out[block + i] = stochastic_bf16(in[block + i], draws[i]);
    }
  });
}

void CpuOps::do_fill_normal(const NormalArgs& args) {
  const Normals normals{RngStream(args.seed, args.stream), args.mean, args.std};
  float* const out = args.out.as<float>();
  for_ranges(args.out.elements(), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t at = args.skip + begin;
      const std::int64_t in_run = at % args.run;
      const std::int64_t count = std::min(end - begin, args.run - in_run);
      const std::int64_t index = args.first_index + at / args.run * args.stride + in_run;
      normals.fill(static_cast<std::uint64_t>(index), out + begin, count);
      begin += count;
    }
  });
}

}  // namespace perfbench::engine::cpu
