// Stochastic rounding of f32 to bf16: up with the probability that makes the expected value equal to the f32 value.
// Every backend computes with these functions, so that equal seeds give equal bits on all of them.
#pragma once

#include <cstdint>

namespace perfbench::engine {

// One word of a stream has this many draws of 16 bits: element i takes draw i % 4 of word i / 4.
inline constexpr std::int64_t kDrawsPerWord = 4;
constexpr std::uint32_t rounding_draw(std::uint64_t word, int i) {
  return static_cast<std::uint32_t>(word >> (16 * i)) & 0xFFFFU;
}

// The two moments of element i of an optimizer's state take two draws from word i / 2: either its lower or its upper
// half.
inline constexpr std::int64_t kMomentsPerWord = 2;
struct MomentDraws {
  std::uint32_t first;
  std::uint32_t second;
};
constexpr MomentDraws moment_draws(std::uint64_t word, std::int64_t element) {
  const int at = 2 * static_cast<int>(element % kMomentsPerWord);
  return {rounding_draw(word, at), rounding_draw(word, at + 1)};
}

// The bf16 bits for the bits of an f32. The 16 bits that are cut off, read as a fraction, are the probability of a
// carry over uniform draws. They are zero for infinities; a NaN stays a NaN. Values beyond the largest bf16 may become
// infinite, as with rounding to nearest.
constexpr std::uint16_t stochastic_bf16(std::uint32_t bits, std::uint32_t draw) {
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + draw) >> 16);
}

}  // namespace perfbench::engine
