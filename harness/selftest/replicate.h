// Many independent simulations on all cores, with a result that does not depend on how many there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <vector>

namespace perfbench::harness {

// simulate(0) .. simulate(count - 1), in order. `simulate` is called from several threads and must not throw.
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
  others.clear();  // joins
  return out;
}

}  // namespace perfbench::harness
