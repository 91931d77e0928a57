// This process as one of two ranks, of which the other one is not there.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "engine/parallel/collectives.h"

namespace perfbench::engine {

class OneOfTwoRanks final : public Processes {
 public:
  static constexpr int kIdOfOthers = 9;

  explicit OneOfTwoRanks(std::int64_t rank) : rank_(rank) {}
  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return 2; }
  std::int64_t ranks_on_node() const override { return 2; }
  std::int64_t rank_on_node() const override { return rank_; }
  // The other one's bytes are kIdOfOthers, unless it says the same.
  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override {
    if (on_gather) on_gather();
    std::fill(all.begin(), all.end(), std::byte{kIdOfOthers});
    for (const std::int64_t rank : {std::int64_t{0}, std::int64_t{1}}) {
      if (rank != rank_ && !other_says_the_same) continue;
      std::copy(own.begin(), own.end(), all.begin() + rank * static_cast<std::ptrdiff_t>(own.size()));
    }
  }
  std::unique_ptr<Collectives> make_collectives(const Mesh&) override { return nullptr; }
  void abort(int exit_code) override { std::_Exit(exit_code); }

  std::function<void()> on_gather;
  bool other_says_the_same = false;

 private:
  std::int64_t rank_;
};

}  // namespace perfbench::engine
