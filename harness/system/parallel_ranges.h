// The user's wish to stop, where there is nothing yet that a result could be returned in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace perfbench::harness {

// `message` says what was stopped: "[plan] cancelled; nothing was run". Ends with exit code 4.
class Cancelled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Work on the elements of a list by all cores.
// The most ranges that parallel_ranges makes: at most eight, as what it is used for is bound by memory beyond.
inline std::size_t most_parallel_ranges() {
  constexpr std::size_t kMost = 8;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
}

// Calls body(number of the range, begin, end) for ranges that cover 0 to `count`, each in its own thread where it has
// `fewest` elements or more. Returns, or throws what the first of the ranges threw, when all have ended.
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
