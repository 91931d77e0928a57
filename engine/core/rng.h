// Counter-based random streams keyed by name: element i of a stream is a pure function of (seed, name, i), so a
// parameter has the same initial values on every mesh and a token the same value whichever rank asks for it.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace perfbench::engine {

// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// FNV-1a, 64 bit.
constexpr std::uint64_t fnv1a64(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

class RngStream {
 public:
  constexpr RngStream(std::uint64_t seed, std::string_view name) : key_(fnv1a64(name) ^ splitmix64(seed)) {}

  constexpr std::uint64_t bits(std::uint64_t index) const { return splitmix64(key_ + index); }

  // The stream for one step.
  constexpr RngStream at(std::uint64_t step) const { return RngStream(bits(step)); }

  // A standard normal draw by Box and Muller from the two halves of bits(index).
  double normal(std::uint64_t index) const {
    const std::uint64_t b = bits(index);
    const double u1 = (static_cast<double>(b >> 32) + 0.5) * 0x1p-32;
    const double u2 = (static_cast<double>(b & 0xFFFFFFFFULL) + 0.5) * 0x1p-32;
    return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
  }

 private:
  constexpr explicit RngStream(std::uint64_t key) : key_(key) {}

  std::uint64_t key_;
};

}  // namespace perfbench::engine
