// Storage types of tensors and their conversion to and from f32, in which all arithmetic is done.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/core/bf16.h"
#include "engine/core/error.h"
#include "engine/core/float8.h"
#include "engine/core/tensor.h"

namespace perfbench::engine::cpu {

using engine::Bf16;
using engine::to_f32;

inline float to_f32(float x) {
  return x;
}

// The formats defined in engine/core/float8.h.
template <DType kType>
struct Float8 {
  std::uint8_t code = 0;
};
using E4m3 = Float8<DType::e4m3>;
using E5m2 = Float8<DType::e5m2>;

template <DType kType>
float to_f32(Float8<kType> x) {
  static constexpr auto kValues = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = float8_value(float8_format(kType), static_cast<std::uint8_t>(i));
    }
    return values;
  }();
  return kValues[x.code];
}

template <class T>
T from_f32(float x);
template <>
inline float from_f32<float>(float x) {
  return x;
}
template <>
inline Bf16 from_f32<Bf16>(float x) {
  return to_bf16(x);
}

template <>
inline E4m3 from_f32<E4m3>(float x) {
  return {float8_code(kE4m3, std::bit_cast<std::uint32_t>(x))};
}
template <>
inline E5m2 from_f32<E5m2>(float x) {
  return {float8_code(kE5m2, std::bit_cast<std::uint32_t>(x))};
}

// Calls f.operator()<T>() with the C++ type of a floating point dtype.
template <class F>
decltype(auto) with_element_type(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  if (dtype == DType::bf16) return f.template operator()<Bf16>();
  throw LogicFault("the cpu kernels compute on f32 and bf16; found " + std::string(dtype_name(dtype)));
}

// The same for an 8-bit dtype.
template <class F>
decltype(auto) with_float8_type(DType dtype, F&& f) {
  if (dtype == DType::e4m3) return f.template operator()<E4m3>();
  if (dtype == DType::e5m2) return f.template operator()<E5m2>();
  throw LogicFault("there is no 8-bit type " + std::string(dtype_name(dtype)));
}

// A small operand (a weight, a bias) as f32: itself if it is f32, else converted into `to`; nullptr if it is absent.
inline const float* as_floats(const TensorView& t, float* to) {
  if (!t.defined()) return nullptr;
  if (t.dtype == DType::f32) return t.as<const float>();
  with_element_type(t.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < t.elements(); ++i) to[i] = to_f32(t.as<const T>()[i]);
  });
  return to;
}

}  // namespace perfbench::engine::cpu
