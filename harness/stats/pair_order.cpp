#include "harness/stats/pair_order.h"

#include <random>
#include <string_view>

namespace perfbench::harness {
namespace {

constexpr std::size_t kBlock = 4;
constexpr std::array<std::string_view, 6> kOrders{"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"};

}  // namespace

Side first_side(std::uint64_t seed, std::size_t cell, std::size_t place) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  const std::uint64_t block = (place - 1) / kBlock;
  std::seed_seq sequence{low(seed), high(seed), low(cell), high(cell), low(block), high(block)};
  std::mt19937_64 random(sequence);
  // The share of 2^64 that six does not divide is too small to matter.
  return kOrders[random() % kOrders.size()][(place - 1) % kBlock] == 'A' ? Side::a : Side::b;
}

std::uint64_t new_seed() {
  std::random_device device;
  constexpr unsigned kBits = 53;
  return ((std::uint64_t{device()} << 32U) | device()) >> (64 - kBits);
}

}  // namespace perfbench::harness
