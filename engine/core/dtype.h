// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perfbench::engine {

// For e4m3 and e5m2 see engine/core/float8.h.
enum class DType { f32, bf16, f64, i32, e4m3, e5m2 };

constexpr std::int64_t size_bytes(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::f64:
      return 8;
    case DType::e4m3:
    case DType::e5m2:
      return 1;
  }
  return 0;
}

constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::e4m3:
      return "e4m3";
    case DType::e5m2:
      return "e5m2";
  }
  return "?";
}

// The type with that name, if there is one.
constexpr std::optional<DType> named_dtype(std::string_view name) {
  for (const auto dtype : {DType::f32, DType::bf16, DType::f64, DType::i32}) {
    if (dtype_name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace perfbench::engine
