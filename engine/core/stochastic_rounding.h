// Rounding f32 to bf16 up or down by chance, up with the probability that makes the expected value the f32 one. Every
// backend computes with these functions, so that equal seeds give equal bits on all of them.
#pragma once

#include <cstdint>

namespace perfbench::engine {

// Draws of 16 bits in one word of a stream: element i takes draw i % 4 of word i / 4.
inline constexpr std::int64_t kDrawsPerWord = 4;
constexpr std::uint32_t rounding_draw(std::uint64_t word, int i) {
  return static_cast<std::uint32_t>(word >> (16 * i)) & 0xFFFFU;
}

// The two moments of element i of an optimizer's state take two draws of word i / 2: the lower or the upper half of it.
inline constexpr std::int64_t kMomentsPerWord = 2;
struct MomentDraws {
  std::uint32_t first;
  std::uint32_t second;
};
constexpr MomentDraws moment_draws(std::uint64_t word, std::int64_t element) {
  const int at = 2 * static_cast<int>(element % kMomentsPerWord);
  return {rounding_draw(word, at), rounding_draw(word, at + 1)};
}

// The bits of the bf16 for the bits of an f32: the 16 bits that are cut off, seen as a fraction, carry with that
// probability over uniform draws. Infinities have none; a NaN stays one. What lies beyond the largest bf16 may become
// infinite, as it does by rounding to nearest.
constexpr std::uint16_t stochastic_bf16(std::uint32_t bits, std::uint32_t draw) {
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + draw) >> 16);
}

}  // namespace perfbench::engine
