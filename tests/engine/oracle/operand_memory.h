// Memory that both the operations under test and the host can access: one definition for each backend
// (ops_under_test.h).
#pragma once

#include <cstddef>

namespace perfbench::engine {

// Aligned to 64 bytes.
void* allocate_operand(std::size_t bytes);
// Waits for the operations first.
void free_operand(void* memory);
// Waits until the operations called so far have written their results.
void wait_for_ops();

}  // namespace perfbench::engine
