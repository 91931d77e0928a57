// What the public operations check of their operands and count of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/ops/operation_modes.h"

namespace perfbench::engine {

[[noreturn]] inline void mismatch(std::string_view op, std::string_view rule,
                                  std::initializer_list<TensorView> operands) {
  std::string text = std::string(op) + ": operands do not fit, " + std::string(rule) + "; found";
  for (const auto& t : operands) text += " " + std::string(dtype_name(t.dtype)) + to_string(t.shape);
  throw LogicFault(text);
}

inline void require(bool holds, std::string_view op, std::string_view rule,
                    std::initializer_list<TensorView> operands) {
  if (!holds) mismatch(op, rule, operands);
}

inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16;
}

inline bool is_scalar_f64(const TensorView& t) {
  return t.dtype == DType::f64 && t.elements() == 1;
}

// Tokens and width of a [N, width] operand.
inline std::int64_t rows(const TensorView& t) {
  return t.shape[0];
}
inline std::int64_t columns(const TensorView& t) {
  return t.shape[1];
}

inline bool absent_or(const TensorView& t, const Shape& shape) {
  return !t.defined() || t.shape == shape;
}

// A dx that takes part in attention or feed-forward has the type of its x.
inline bool same(const TensorView& a, const TensorView& b) {
  return a.shape == b.shape && a.dtype == b.dtype;
}

// Bytes of those operands that are there.
template <class... View>
std::int64_t bytes_of(const View&... operands) {
  return ((operands.defined() ? operands.bytes() : 0) + ...);
}

// What is read of an output: what it held, where that is added to.
inline std::int64_t held_bytes(const TensorView& out, Write write) {
  return write == Write::accumulate ? bytes_of(out) : 0;
}

}  // namespace perfbench::engine
