// The target value of a position that has no loss.
#pragma once

#include <cstdint>

namespace perfbench::engine {

inline constexpr std::int32_t kNoTarget = -1;

}  // namespace perfbench::engine
