// A pseudo-random order of 0..count-1 that needs no memory: a Feistel network over the next even number of bits,
// applied again while its result lies outside ("cycle walking"; Black and Rogaway, "Ciphers with Arbitrary Finite
// Domains", CT-RSA 2002). The domain is less than four times as large as `count`, so four steps on average suffice.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/core/rng.h"

namespace perfbench::engine {

class WindowOrder {
 public:
  // count > 0. Each epoch has its own order.
  WindowOrder(std::int64_t count, std::uint64_t seed, std::int64_t epoch) : count_(static_cast<std::uint64_t>(count)) {
    const auto bits = static_cast<int>(std::bit_width(count_ - 1));
    half_bits_ = (bits + 1) / 2;
    const RngStream stream(seed, "window_order");
    for (std::size_t round = 0; round < kRounds; ++round) {
      keys_[round] = stream.bits(static_cast<std::uint64_t>(epoch) * kRounds + round);
    }
  }

  // The window at `place`, 0 <= place < count.
  std::int64_t at(std::int64_t place) const {
    auto x = static_cast<std::uint64_t>(place);
    do x = permute(x);
    while (x >= count_);
    return static_cast<std::int64_t>(x);
  }

 private:
  static constexpr std::size_t kRounds = 6;

  std::uint64_t permute(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (const auto key : keys_) {
      const std::uint64_t next = left ^ (splitmix64(key ^ right) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  int half_bits_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

// The window of the i-th sequence of a run. After the last window a new epoch begins, in another order.
inline std::int64_t window_of(std::int64_t sequence, std::int64_t windows, std::uint64_t seed) {
  return WindowOrder(windows, seed, sequence / windows).at(sequence % windows);
}

}  // namespace perfbench::engine
