#include "harness/selftest/simulation.h"

#include <cmath>

namespace perfbench::harness {
namespace {

// A value of a mixture, in which `share` of the values are raised by `height`. The others have mean 0 and deviation
// `spread`.
double mixed(double value, bool raised, double share, double height, double spread) {
  const double deviation = std::sqrt(spread * spread + height * height * share * (1 - share));
  return (spread * value + (raised ? height : 0.0) - height * share) / deviation;
}

}  // namespace

std::mt19937_64 series_random(std::uint64_t seed, NoiseKind kind, std::uint64_t purpose, std::uint64_t index) {
  std::seed_seq words{seed, seed >> 32U, static_cast<std::uint64_t>(kind), purpose, index, index >> 32U};
  return std::mt19937_64(words);
}

double Noise::autoregressive(double phi) {
  last_ = started_ ? phi * last_ + std::sqrt(1 - phi * phi) * normal_(random_) : normal_(random_);
  started_ = true;
  return last_;
}

double Noise::next() {
  switch (kind_) {
    case NoiseKind::gaussian:
      return normal_(random_);
    case NoiseKind::ar1_03:
      return autoregressive(0.3);
    case NoiseKind::ar1_06:
      return autoregressive(0.6);
    case NoiseKind::skewed: {
      constexpr double kVariance = 0.75 * 0.75;
      const double mean = std::exp(kVariance / 2);
      return (std::exp(0.75 * normal_(random_)) - mean) / (mean * std::sqrt(std::expm1(kVariance)));
    }
    case NoiseKind::spiky:
      return mixed(normal_(random_), uniform_(random_) < 0.05, 0.05, 8, 1);
    case NoiseKind::bimodal:
      return mixed(normal_(random_), uniform_(random_) < 0.3, 0.3, 4, 1);
    case NoiseKind::drifting: {
      last_ += 0.1 * normal_(random_);
      return last_ + normal_(random_);
    }
  }
  return 0;
}

}  // namespace perfbench::harness
