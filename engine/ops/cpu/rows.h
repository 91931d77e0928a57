// Rows of a tensor as f32: the row itself where the tensor is f32, a converted copy where it is bf16. Kernels are
// written once, on f32 rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/ops/cpu/element_type.h"

namespace perfbench::engine::cpu {

inline void widen(const Bf16* in, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = to_f32(in[i]);
}

inline void narrow(const float* in, Bf16* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = from_f32<Bf16>(in[i]);
}

// Read-only row `row` of `width` elements; `buffer` holds the copy.
inline const float* read_row(const TensorView& t, std::int64_t row, std::int64_t width, std::vector<float>& buffer) {
  if (t.dtype == DType::f32) return t.as<float>() + row * width;
  buffer.resize(static_cast<std::size_t>(width));
  widen(t.as<Bf16>() + row * width, buffer.data(), width);
  return buffer.data();
}

// Where a row is computed; `finish_row` rounds it into the tensor.
inline float* write_row(const TensorView& t, std::int64_t row, std::int64_t width, std::vector<float>& buffer) {
  if (t.dtype == DType::f32) return t.as<float>() + row * width;
  buffer.resize(static_cast<std::size_t>(width));
  return buffer.data();
}
inline void finish_row(const TensorView& t, std::int64_t row, std::int64_t width, const std::vector<float>& buffer) {
  if (t.dtype == DType::bf16) narrow(buffer.data(), t.as<Bf16>() + row * width, width);
}

// A row that is read and written.
inline float* change_row(const TensorView& t, std::int64_t row, std::int64_t width, std::vector<float>& buffer) {
  float* out = write_row(t, row, width, buffer);
  if (t.dtype == DType::bf16) widen(t.as<Bf16>() + row * width, out, width);
  return out;
}

// [1-dim tensor] as f32.
inline std::vector<float> as_f32(const TensorView& t) {
  std::vector<float> out;
  if (!t.defined()) return out;
  std::vector<float> buffer;
  const float* values = read_row(t, 0, t.elements(), buffer);
  return {values, values + t.elements()};
}

}  // namespace perfbench::engine::cpu
