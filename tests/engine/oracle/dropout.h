// The elements that dropout keeps, from the definitions of its streams alone: FNV-1a of the name, SplitMix64 as its
// authors' generator that walks from state to state.
#pragma once

#include <cstdint>
#include <string>

namespace perfbench::engine::oracle {

class SplitMix {
 public:
  explicit SplitMix(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z ^= z >> 30;
    z *= 0xbf58476d1ce4e5b9U;
    z ^= z >> 27;
    z *= 0x94d049bb133111ebU;
    z ^= z >> 31;
    return z;
  }

 private:
  std::uint64_t state_;
};

struct DropoutOracle {
  std::uint64_t seed;
  std::string stream;
  std::uint64_t step;
  double rate;

  // Two columns of a row share a word: the low half is for the even one, the high half for the odd one. An element is
  // dropped if its half, as a fraction of 1, including the whole interval of its last place, lies below the rate.
  bool keeps(std::uint64_t row, std::uint64_t column, std::uint64_t width) const {
    std::uint64_t name = 0xcbf29ce484222325U;
    for (const char c : stream) name = (name ^ static_cast<unsigned char>(c)) * 1099511628211U;
    const std::uint64_t of_run = name ^ SplitMix(seed).next();
    const std::uint64_t of_step = SplitMix(of_run + step).next();
    const std::uint64_t words_of_row = width / 2 + width % 2;
    const std::uint64_t word = SplitMix(of_step + row * words_of_row + column / 2).next();
    const std::uint64_t half = column % 2 == 0 ? word & 0xffffffffU : word >> 32;
    return static_cast<double>(half + 1) / 4294967296.0 > rate;
  }
};

}  // namespace perfbench::engine::oracle
