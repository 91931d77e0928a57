// Parts of a dim, of work, of a list: how large the largest is, or how many of a size there are.
#pragma once

#include <cstdint>

namespace perfbench::spec {

// n / d rounded up; n >= 0, d > 0.
constexpr std::int64_t divide_up(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

}  // namespace perfbench::spec
