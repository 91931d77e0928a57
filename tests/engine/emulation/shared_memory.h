// Shared memory of emulated kernels: every index is checked, it is filled with NaNs when a block begins, and it has
// borders that are checked when the block ends (for writes through a pointer).
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "tests/engine/emulation/block.h"

namespace perfbench::emulation {

template <class T>
class SharedArray {
 public:
  SharedArray(void* data, std::size_t count) : data_(static_cast<T*>(data)), count_(count) {}

  // A template, so that the pointer's built-in subscript is never an equally good match.
  template <class I>
  T& operator[](I i) const {
    if (static_cast<std::size_t>(i) >= count_) {
      throw KernelFault("index " + std::to_string(i) + " of a shared array of " + std::to_string(count_) + " elements");
    }
    return data_[i];
  }
  template <class I>
  SharedArray operator+(I elements) const {
    if (static_cast<std::size_t>(elements) > count_) {
      throw KernelFault("a part from " + std::to_string(elements) + " of a shared array of " + std::to_string(count_) +
                        " elements");
    }
    return {data_ + elements, count_ - static_cast<std::size_t>(elements)};
  }
  // Unchecked from here on.
  operator T*() const { return data_; }

 private:
  T* data_;
  std::size_t count_;
};

template <class T>
SharedArray<T> shared_array(const void* site, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {running_block().shared(site, count * sizeof(T), alignof(T)), count};
}

template <class T>
SharedArray<T> dynamic_shared() {
  const Block& block = running_block();
  return {block.dynamic_shared(), block.dynamic_shared_bytes() / sizeof(T)};
}

}  // namespace perfbench::emulation

// NOLINTBEGIN(bugprone-macro-parentheses): a declarator must not have parentheses.
#define PERFBENCH_SHARED(type, name, count)     \
  static constexpr char name##_declaration = 0; \
  const auto name = ::perfbench::emulation::shared_array<type>(&name##_declaration, count)

#define PERFBENCH_DYNAMIC_SHARED(type, name) const auto name = ::perfbench::emulation::dynamic_shared<type>()
// NOLINTEND(bugprone-macro-parentheses)
