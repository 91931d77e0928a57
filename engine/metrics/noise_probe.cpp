#include "engine/metrics/noise_probe.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "engine/metrics/phase_clock.h"

namespace perfbench::engine {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Vector [[gnu::vector_size(kLanes * 4)]] = float;

// Independent chains: more than a latency of 4 cycles on two units.
constexpr int kChains = 12;

// Keeps a value alive without a store to memory.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Twelve chains in named variables: in an array they would go through memory. `Each` runs once an iteration.
template <class Each>
float chain_loop(std::int64_t iterations, Each each) {
  const Vector factor = Vector{} + 0.999999F;
  const Vector term = Vector{} + 1e-6F;
  Vector s0 = term, s1 = s0 + 1, s2 = s0 + 2, s3 = s0 + 3, s4 = s0 + 4, s5 = s0 + 5;
  Vector s6 = s0 + 6, s7 = s0 + 7, s8 = s0 + 8, s9 = s0 + 9, s10 = s0 + 10, s11 = s0 + 11;
  for (std::int64_t n = 0; n < iterations; ++n) {
    s0 = s0 * factor + term, s1 = s1 * factor + term, s2 = s2 * factor + term, s3 = s3 * factor + term;
    s4 = s4 * factor + term, s5 = s5 * factor + term, s6 = s6 * factor + term, s7 = s7 * factor + term;
    s8 = s8 * factor + term, s9 = s9 * factor + term, s10 = s10 * factor + term, s11 = s11 * factor + term;
    // Marks each iteration's values as used, so that the compiler can neither fold nor drop them.
    asm volatile("" : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5));
    asm volatile("" : "+v"(s6), "+v"(s7), "+v"(s8), "+v"(s9), "+v"(s10), "+v"(s11));
    each();
  }
  const Vector total = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  return total[0];
}

float multiply_add_loop(std::int64_t iterations) {
  return chain_loop(iterations, [] {});
}

float mixed_loop(std::int64_t iterations) {
  std::uint64_t a = 0;
  std::uint64_t b = 1;
  std::uint64_t c = 2;
  std::uint64_t d = 3;
  const float sum = chain_loop(iterations, [&] {
    a += 1, b += 1, c += 1, d += 1;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    a += 2, b += 2, c += 2, d += 2;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    a += 3, b += 3, c += 3, d += 3;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  });
  return sum + static_cast<float>(a + b + c + d);
}

// The time of `work` on the slowest thread, in nanoseconds.
template <class Work>
std::int64_t on_all_threads(int threads, Work work) {
  std::vector<std::int64_t> times(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    const std::int64_t begin = monotonic_ns();
    keep(work());
    times[static_cast<std::size_t>(omp_get_thread_num())] = monotonic_ns() - begin;
  }
  return *std::max_element(times.begin(), times.end());
}

constexpr std::int64_t kWarmIterations = 100'000;
// 12 chains each, at two instructions a cycle: about 5 million cycles
constexpr std::int64_t kProbeIterations = 800'000;
constexpr std::int64_t kPeakIterations = 1'000'000;

}  // namespace

std::int64_t probe_noise(int threads) {
  on_all_threads(threads, [] { return mixed_loop(kWarmIterations); });
  return on_all_threads(threads, [] { return mixed_loop(kProbeIterations); });
}

double measure_peak_flops_per_s(int threads) {
  constexpr int kSlices = 8;
  std::int64_t best = INT64_MAX;
  on_all_threads(threads, [] { return multiply_add_loop(kPeakIterations); });
  for (int i = 0; i < kSlices; ++i) {
    best = std::min(best, on_all_threads(threads, [] { return multiply_add_loop(kPeakIterations); }));
  }
  const double flops = 2.0 * kLanes * kChains * static_cast<double>(kPeakIterations) * threads;
  return flops / (static_cast<double>(best) * 1e-9);
}

}  // namespace perfbench::engine
