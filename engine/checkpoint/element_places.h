// Which elements of a whole parameter a part of it holds, and which elements two parts share. This is how values go
// from the mesh that saved them to another mesh.
#pragma once

#include <algorithm>
#include <cstdint>

namespace perfbench::engine {

// Element i of the part, 0 <= i < count, is element first + (skip + i) / run * stride + (skip + i) % run of the whole
// parameter; run <= stride. (It describes a ParameterSlice of which a rank holds the elements from `skip` on.)
struct ElementPlaces {
  std::int64_t first = 0;
  std::int64_t run = 1;
  std::int64_t stride = 1;
  std::int64_t skip = 0;
  std::int64_t count = 0;
};

// Calls f(element of a, element of b, length of the run that follows in both) for all elements that a and b share, in
// order. Takes as many steps as a has runs, or b within those.
template <class F>
void for_each_common(const ElementPlaces& a, const ElementPlaces& b, F&& f) {
  for (std::int64_t i = 0; i < a.count;) {
    const std::int64_t in_run = (a.skip + i) % a.run;
    const std::int64_t length = std::min(a.run - in_run, a.count - i);
    const std::int64_t begin = a.first + (a.skip + i) / a.run * a.stride + in_run;
    for (std::int64_t at = begin; at < begin + length;) {
      const std::int64_t left = begin + length - at;
      const std::int64_t behind = at - b.first;
      if (behind < 0) {
        at += std::min(left, -behind);
        continue;
      }
      const std::int64_t column = behind % b.stride;
      if (column >= b.run) {
        at += std::min(left, b.stride - column);
        continue;
      }
      const std::int64_t follow = std::min(left, b.run - column);
      // outside of [0, count): elements of other parts
      const std::int64_t in_b = behind / b.stride * b.run + column - b.skip;
      const std::int64_t from = std::max<std::int64_t>(in_b, 0);
      const std::int64_t to = std::min(in_b + follow, b.count);
      if (from < to) f(i + (at - begin) + (from - in_b), from, to - from);
      at += follow;
    }
    i += length;
  }
}

inline std::int64_t common_elements(const ElementPlaces& a, const ElementPlaces& b) {
  std::int64_t count = 0;
  for_each_common(a, b, [&](std::int64_t, std::int64_t, std::int64_t length) { count += length; });
  return count;
}

}  // namespace perfbench::engine
