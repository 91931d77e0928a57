// Sums along one row, in four interleaved registers: a fixed order that hides the latency of additions.
#pragma once

#include <utility>

#include "engine/ops/cpu/vector.h"

namespace perfbench::engine::cpu {

template <class T>
Vec load_up_to(const T* p, std::int64_t count) {
  return count == kLanes ? load(p) : load_part(p, count);
}
template <class T>
void store_up_to(T* p, Vec v, std::int64_t count) {
  if (count == kLanes) {
    store(p, v);
  } else {
    store_part(p, v, count);
  }
}

// v in the first `count` lanes, `rest` in the others.
inline Vec keep_lanes(Vec v, std::int64_t count, Vec rest = Vec{}) {
  if (count == kLanes) return v;
  IntVec index;
  for (int i = 0; i < kLanes; ++i) index[i] = i;
  return select(index < static_cast<std::int32_t>(count), v, rest);
}

// Sum of f(x[i]) over a row.
template <class T, class F>
float row_sum(const T* x, std::int64_t n, F f) {
  Vec sum[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) sum[j] += f(load(x + i + j * kLanes));
  }
  for (; i < n; i += kLanes) {
    const std::int64_t count = n - i < kLanes ? n - i : kLanes;
    sum[0] += keep_lanes(f(load_up_to(x + i, count)), count);
  }
  return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// f(i, count) returns two Vecs for the elements [i, i + count), with zeros where its loads have zeros; this returns
// both sums over [0, n).
template <class F>
std::pair<float, float> two_row_sums(std::int64_t n, F f) {
  Vec first[2] = {};
  Vec second[2] = {};
  int turn = 0;
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = n - i < kLanes ? n - i : kLanes;
    const auto [a, b] = f(i, count);
    first[turn] += a;
    second[turn] += b;
    turn = 1 - turn;
  }
  return {sum_lanes(first[0] + first[1]), sum_lanes(second[0] + second[1])};
}

}  // namespace perfbench::engine::cpu
