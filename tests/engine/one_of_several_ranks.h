// This process as one of several ranks of a node; the others do not exist.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "engine/parallel/processes.h"

namespace perfbench::engine {

class OneOfSeveralRanks final : public Processes {
 public:
  static constexpr int kIdOfOthers = 9;

  explicit OneOfSeveralRanks(std::int64_t rank, std::int64_t size = 2) : rank_(rank), size_(size) {}
  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return size_; }
  std::int64_t ranks_on_node() const override { return size_; }
  std::int64_t rank_on_node() const override { return rank_; }
  std::int64_t first_on_node() const override { return 0; }
  // The others' bytes are kIdOfOthers, unless they are set to equal this rank's.
  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override {
    if (on_gather) on_gather();
    std::fill(all.begin(), all.end(), std::byte{kIdOfOthers});
    for (std::int64_t rank = 0; rank < size_; ++rank) {
      if (rank != rank_ && !others_say_the_same) continue;
      std::copy(own.begin(), own.end(), all.begin() + rank * static_cast<std::ptrdiff_t>(own.size()));
    }
  }
  std::unique_ptr<Collectives> make_collectives(const Mesh&, std::span<const Declared>) override { return nullptr; }
  void abort(int exit_code) override { std::_Exit(exit_code); }

  std::function<void()> on_gather;
  bool others_say_the_same = false;

 private:
  std::int64_t rank_;
  std::int64_t size_;
};

}  // namespace perfbench::engine
