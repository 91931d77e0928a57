// The 8-bit floating point formats: "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, Open Compute
// Project, 2023. Every backend rounds with these functions, so that equal numbers give equal codes on all of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/core/dtype.h"

namespace perfbench::engine {

// A code consists of sign, exponent and mantissa, from the highest bit on.
struct Float8Format {
  int mantissa_bits = 0;
  int bias = 0;                     // exponent bias
  std::uint32_t largest_code = 0;   // the code of the largest number
  float largest = 0;                // the largest number
  std::uint32_t infinite_code = 0;  // codes above it (sign bit cleared) are NaN
};
// e4m3 has no infinities, and one code (of either sign) is a NaN.
inline constexpr Float8Format kE4m3{
    .mantissa_bits = 3, .bias = 7, .largest_code = 0x7E, .largest = 448.0F, .infinite_code = 0x7E};
inline constexpr Float8Format kE5m2{
    .mantissa_bits = 2, .bias = 15, .largest_code = 0x7B, .largest = 57344.0F, .infinite_code = 0x7C};

constexpr bool is_float8(DType dtype) {
  return dtype == DType::e4m3 || dtype == DType::e5m2;
}
// `dtype` must be e4m3 or e5m2.
constexpr const Float8Format& float8_format(DType dtype) {
  return dtype == DType::e4m3 ? kE4m3 : kE5m2;
}

// The code for the bits of an f32: rounded to nearest even. Values beyond the largest number, infinity included, become
// the largest number; a NaN stays a NaN.
constexpr std::uint8_t float8_code(const Float8Format& format, std::uint32_t bits) {
  constexpr std::uint32_t kNotANumber = 0x7F;  // a NaN in both formats
  const std::uint32_t sign = bits >> 24 & 0x80U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + format.bias;
  // The significand as an integer with its leading one. An f32 without one (a subnormal) becomes zero entirely.
  const std::uint32_t significand = (magnitude & 0x7FFFFFU) | 0x800000U;
  const int below_normal = std::max(0, 1 - exponent);
  const int cut = std::min(23 - format.mantissa_bits + below_normal, 25);
  const std::uint32_t rounded = (significand + (1U << (cut - 1)) - 1U + (significand >> cut & 1U)) >> cut;
  // The leading one of `rounded`, and any carry, add to the exponent.
  const std::uint32_t code = (static_cast<std::uint32_t>(std::max(0, exponent - 1)) << format.mantissa_bits) + rounded;
  const std::uint32_t saturated = std::min(code, format.largest_code);
  return static_cast<std::uint8_t>(sign | (magnitude > 0x7F800000U ? kNotANumber : saturated));
}

// The number that a code stands for.
constexpr float float8_value(const Float8Format& format, std::uint8_t code) {
  const std::uint32_t sign = (code & 0x80U) << 24;
  const std::uint32_t magnitude = code & 0x7FU;
  if (magnitude > format.infinite_code) return std::bit_cast<float>(sign | 0x7FC00000U);
  if (magnitude > format.largest_code) return std::bit_cast<float>(sign | 0x7F800000U);
  const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t ones = 1U << format.mantissa_bits;
  const std::uint32_t steps = (magnitude & (ones - 1)) + (exponent > 0 ? ones : 0);
  const int step_exponent = std::max(exponent, 1) - format.bias - format.mantissa_bits;
  const float value =
      static_cast<float>(steps) * std::bit_cast<float>(static_cast<std::uint32_t>(step_exponent + 127) << 23);
  return sign == 0 ? value : -value;
}

// The factor that brings the largest magnitude of a tensor to the largest number of a format. It is 1 if that magnitude
// is 0, unknown or infinite: the loss is to show that a run has diverged.
constexpr float float8_scale(const Float8Format& format, float amax) {
  constexpr float kMost = 0x1.fffffep127F;
  if (!(amax > 0.0F && amax <= kMost)) return 1.0F;
  return std::min(format.largest / amax, kMost);
}

}  // namespace perfbench::engine
