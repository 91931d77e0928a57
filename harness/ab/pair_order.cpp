#include "harness/ab/pair_order.h"

#include <random>

namespace perfbench::harness {

Side first_side(std::uint64_t seed, std::size_t cell, std::size_t number) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  std::seed_seq sequence{low(seed), high(seed), low(cell), high(cell), low(number), high(number)};
  std::mt19937_64 coins(sequence);
  return (coins() & 1U) == 0 ? Side::a : Side::b;
}

std::uint64_t new_seed() {
  std::random_device device;
  constexpr unsigned kBits = 53;
  return ((std::uint64_t{device()} << 32U) | device()) >> (64 - kBits);
}

}  // namespace perfbench::harness
