// How the public operations check and count their operands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/core/error.h"
#include "engine/core/rows_view.h"
#include "engine/ops/operation_modes.h"

namespace perfbench::engine {

[[noreturn]] inline void mismatch(std::string_view op, std::string_view rule,
                                  std::initializer_list<RowsView> operands) {
  std::string text = std::string(op) + ": operands do not fit, " + std::string(rule) + "; found";
  for (const auto& t : operands) text += " " + std::string(dtype_name(t.dtype)) + to_string(t.shape);
  throw LogicFault(text);
}

inline void require(bool holds, std::string_view op, std::string_view rule, std::initializer_list<RowsView> operands) {
  if (!holds) mismatch(op, rule, operands);
}

inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16;
}

inline bool is_scalar_f32(const TensorView& t) {
  return t.defined() && t.dtype == DType::f32 && t.elements() == 1;
}
inline bool is_scalar_f64(const TensorView& t) {
  return t.dtype == DType::f64 && t.elements() == 1;
}

// The tokens and width of a [N, width] operand.
template <class View>
std::int64_t rows(const View& t) {
  return t.shape[0];
}
template <class View>
std::int64_t columns(const View& t) {
  return t.shape[1];
}

inline bool absent_or(const TensorView& t, const Shape& shape) {
  return !t.defined() || t.shape == shape;
}

// A dx of attention or feed-forward has the type of its x.
template <class A, class B>
bool same(const A& a, const B& b) {
  return a.shape == b.shape && a.dtype == b.dtype;
}

// Whether the rows of a [N, width] operand lie at equal distances, which those of heads do not.
inline bool evenly_apart(const RowsView& t) {
  return !t.defined() || (t.shape.rank() == 2 && t.group == 1 && t.stride >= t.shape[1]);
}

// The total bytes of the operands that exist.
template <class... View>
std::int64_t bytes_of(const View&... operands) {
  return ((operands.defined() ? operands.bytes() : 0) + ...);
}

// The bytes read of an output: its old contents if it is added to.
template <class View>
std::int64_t held_bytes(const View& out, Write write) {
  return write == Write::accumulate ? bytes_of(out) : 0;
}

}  // namespace perfbench::engine
