#include "engine/core/arena.h"

#include <algorithm>

namespace perfbench::engine {

std::int64_t Arena::allocate(std::int64_t bytes) {
  const std::int64_t size = rounded(bytes);
  auto best = free_.end();
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    if (gap->second >= size && (best == free_.end() || gap->second < best->second)) best = gap;
  }
  if (best == free_.end()) {
    const std::int64_t offset = end_;
    end_ += size;
    extent_ = std::max(extent_, end_);
    return offset;
  }
  const auto [offset, gap_size] = *best;
  free_.erase(best);
  if (gap_size > size) free_[offset + size] = gap_size - size;
  return offset;
}

void Arena::release(std::int64_t offset, std::int64_t bytes) {
  std::int64_t begin = offset;
  std::int64_t end = offset + rounded(bytes);
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && next->first == end) {
    end += next->second;
    free_.erase(next);
  }
  if (end == end_) {
    end_ = begin;
  } else {
    free_[begin] = end - begin;
  }
}

}  // namespace perfbench::engine
