#include "engine/checkpoint/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace perfbench::engine {

std::string checksum(const void* data, std::size_t bytes) {
  std::array<char, 17> digits{};
  const auto hash = static_cast<unsigned long long>(XXH3_64bits(data, bytes));
  std::snprintf(digits.data(), digits.size(), "%016llx", hash);
  return digits.data();
}

}  // namespace perfbench::engine
