// Simulated noise of the kinds that occur in series of run times.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class NoiseKind { gaussian, ar1_03, ar1_06, skewed, spiky, bimodal, drifting };

inline constexpr std::array kNoiseKinds{NoiseKind::gaussian, NoiseKind::ar1_03,  NoiseKind::ar1_06,  NoiseKind::skewed,
                                        NoiseKind::spiky,    NoiseKind::bimodal, NoiseKind::drifting};

// A separate generator for every series, independent of the thread that uses it.
std::mt19937_64 series_random(std::uint64_t seed, NoiseKind kind, std::uint64_t purpose, std::uint64_t index);

// Values in order, with mean 0 and standard deviation 1, including spikes and modes:
//     ar1       x_t = phi x_(t-1) + e
//     skewed    lognormal with sigma 0.75 (skewness 3.3)
//     spiky     one in 20 lies 8 standard deviations of the others above
//     bimodal   three in ten lie 4 standard deviations of a mode above the others
//     drifting  independent values of standard deviation 1 around a level that walks by 0.1 from one to the next; the
//                         deviation of 1 is the deviation around the level
class Noise {
 public:
  Noise(NoiseKind kind, std::mt19937_64 random) : kind_(kind), random_(random) {}
  double next();

 private:
  double autoregressive(double phi);

  NoiseKind kind_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_{0.0, 1.0};
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  double last_ = 0;
  bool started_ = false;
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::NoiseKind> {
  using K = perfbench::harness::NoiseKind;
  static constexpr std::array kNames{std::pair{K::gaussian, "gaussian"}, std::pair{K::ar1_03, "AR(1) 0.3"},
                                     std::pair{K::ar1_06, "AR(1) 0.6"},  std::pair{K::skewed, "skewed"},
                                     std::pair{K::spiky, "spiky"},       std::pair{K::bimodal, "bimodal"},
                                     std::pair{K::drifting, "drifting"}};
};

namespace perfbench::harness {

// Runs many independent simulations on all cores. The result, simulate(0) .. simulate(count - 1) in order, does not
// depend on the number of cores. `simulate` is called from several threads and must not throw.
template <class F>
auto replicate(std::size_t count, const F& simulate) {
  std::vector<std::invoke_result_t<F, std::size_t>> out(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (auto i = next++; i < count; i = next++) out[i] = simulate(i);
  };
  std::vector<std::jthread> others;
  const auto cores = std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), 16);
  for (std::size_t i = 1; i < cores; ++i) others.emplace_back(work);
  work();
  others.clear();  // joins the threads
  return out;
}

}  // namespace perfbench::harness
