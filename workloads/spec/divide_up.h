// Division with rounding up, for parts of a dim, of work or of a list.
#pragma once

#include <cstdint>

namespace perfbench::spec {

// n / d rounded up; n >= 0, d > 0.
constexpr std::int64_t divide_up(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

}  // namespace perfbench::spec
