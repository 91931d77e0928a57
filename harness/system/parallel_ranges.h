// The user cancelled a command that has no result to return yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace perfbench::harness {

// `message` says what was stopped: "[plan] cancelled; nothing was run". The program exits with code 4.
class Cancelled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Processes the elements of a list on all cores. most_parallel_ranges is the largest number of ranges that
// parallel_ranges makes: at most eight, because beyond that its users are limited by memory bandwidth.
inline std::size_t most_parallel_ranges() {
  constexpr std::size_t kMost = 8;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
}

// Calls body(index of the range, begin, end) for ranges that cover 0 to `count`. Ranges run in threads of their own if
// they have at least `fewest` elements. Waits for all ranges; then returns, or throws what the first failed range
// threw.
template <class Body>
void parallel_ranges(std::size_t count, std::size_t fewest, const Body& body) {
  const auto ranges = std::clamp<std::size_t>(count / fewest, 1, most_parallel_ranges());
  const auto policy = ranges > 1 ? std::launch::async : std::launch::deferred;
  std::vector<std::future<void>> running;
  for (std::size_t range = 0; range < ranges; ++range) {
    const auto begin = count * range / ranges;
    const auto end = count * (range + 1) / ranges;
    running.push_back(std::async(policy, [&body, range, begin, end] { body(range, begin, end); }));
  }
  for (auto& range : running) range.get();
}

}  // namespace perfbench::harness
