// The extent of a tensor, row-major, up to four dims.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace perfbench::engine {

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 4;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

  explicit constexpr Shape(std::span<const std::int64_t> dims) {
    for (const auto d : dims) {
      if (rank_ < kMaxRank) dims_[rank_++] = d;
    }
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

// Formats the shape as "[4096, 11008]".
inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace perfbench::engine
