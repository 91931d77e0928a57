// Which elements dropout keeps. Every backend computes with these functions, so that equal keys drop equal elements on
// all of them.
#pragma once

#include <cstdint>

namespace perfbench::engine {

// Element (row, column) of rows of `width` takes draw column % 2 of dropout_word(row, column, width) of its stream.
inline constexpr std::int64_t kDropoutDrawsPerWord = 2;
constexpr std::int64_t dropout_words(std::int64_t width) {
  return (width + kDropoutDrawsPerWord - 1) / kDropoutDrawsPerWord;
}
constexpr std::uint64_t dropout_word(std::int64_t row, std::int64_t column, std::int64_t width) {
  return static_cast<std::uint64_t>(row * dropout_words(width) + column / kDropoutDrawsPerWord);
}
constexpr std::uint32_t dropout_draw(std::uint64_t word, int i) {
  return static_cast<std::uint32_t>(word >> (32 * i));
}

// An element is kept where its draw is not below; 0 <= rate < 1, to 2^-32.
constexpr std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(rate * 0x1p32);
}
constexpr float dropout_factor(double rate) {
  return static_cast<float>(1.0 / (1.0 - rate));
}

}  // namespace perfbench::engine
