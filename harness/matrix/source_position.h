// A place in a file that a person wrote.
#pragma once

#include <cstdint>

namespace perfbench::harness {

// Counted from 1; columns in bytes.
struct SourcePosition {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

}  // namespace perfbench::harness
