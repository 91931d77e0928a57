#include "engine/core/arena.h"

#include <algorithm>
#include <iterator>

namespace perfbench::engine {

std::int64_t Arena::allocate(std::int64_t bytes) {
  const std::int64_t size = rounded(bytes);
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->size >= size && (best == gaps_.end() || gap->size < best->size)) best = gap;
  }
  if (best == gaps_.end()) {
    const std::int64_t offset = end_;
    end_ += size;
    extent_ = std::max(extent_, end_);
    return offset;
  }
  const std::int64_t offset = best->offset;
  if (best->size == size) {
    gaps_.erase(best);
  } else {
    *best = {offset + size, best->size - size};
  }
  return offset;
}

void Arena::release(std::int64_t offset, std::int64_t bytes) {
  Gap gap{offset, rounded(bytes)};
  auto next = std::lower_bound(gaps_.begin(), gaps_.end(), offset,
                               [](const Gap& g, std::int64_t begin) { return g.offset < begin; });
  if (next != gaps_.end() && next->offset == gap.end()) {
    gap.size += next->size;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin() && std::prev(next)->end() == gap.offset) {
    gap = {std::prev(next)->offset, std::prev(next)->size + gap.size};
    next = gaps_.erase(std::prev(next));
  }
  if (gap.end() == end_) {
    end_ = gap.offset;
  } else {
    gaps_.insert(next, gap);
  }
}

}  // namespace perfbench::engine
