// The bf16 type on the host.
#pragma once

#include <bit>
#include <cstdint>

namespace perfbench::engine {

// The upper half of an f32.
struct Bf16 {
  std::uint16_t bits = 0;
};

inline float to_f32(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

// Round to nearest, ties to even. A NaN stays a NaN (made quiet, so that cutting its payload cannot give infinity).
inline Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace perfbench::engine
