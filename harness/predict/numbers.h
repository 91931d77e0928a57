// Conversions and means that several files of this room use.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace perfbench::predict {

inline double real(std::int64_t value) {
  return static_cast<double>(value);
}

// Needs at least one value.
inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace perfbench::predict
