// Divides loops among OpenMP threads. Each index is computed by exactly one thread and independently of the others, so
// results do not depend on the division.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace perfbench::engine::cpu {

// Below this many elements a parallel region takes longer than it saves.
inline constexpr std::int64_t kGrainElements = 16 * 1024;

inline int threads_for(std::int64_t work_elements) {
  const auto useful = std::max<std::int64_t>(1, work_elements / kGrainElements);
  return static_cast<int>(std::min<std::int64_t>(omp_get_max_threads(), useful));
}

// Calls f(begin, end) on contiguous parts of [0, n), cut at multiples of 64 elements. `cost`: elements of work per
// index.
template <class F>
void for_ranges(std::int64_t n, F&& f, std::int64_t cost = 1) {
  const int threads = threads_for(n * cost);
  if (threads == 1) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  const std::int64_t align = cost == 1 ? 64 : 1;
  const std::int64_t share = ((n + threads - 1) / threads + align - 1) / align * align;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t begin = std::min(n, t * share);
    const std::int64_t end = std::min(n, begin + share);
    if (begin < end) f(begin, end);
  }
}

// Calls f(index, thread) for every index of [0, n), handed out one by one: for uneven work.
template <class F>
void for_items(std::int64_t n, int threads, F&& f) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::int64_t i = 0; i < n; ++i) f(i, omp_get_thread_num());
}

}  // namespace perfbench::engine::cpu
