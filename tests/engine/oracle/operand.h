// Operands of the operations under test: their bytes, their view, and their values as f64.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "engine/core/tensor.h"
#include "tests/engine/oracle/operand_memory.h"

namespace perfbench::engine::oracle {

using Values = std::vector<double>;

// The largest relative error of one rounding.
inline constexpr double kUnitF32 = 0x1p-24;
inline constexpr double kUnitBf16 = 0x1p-8;

inline double unit_of(DType dtype) {
  return dtype == DType::bf16 ? kUnitBf16 : kUnitF32;
}

// The error of n roundings in a row: n u / (1 - n u). Higham, "Accuracy and Stability of Numerical Algorithms", 3.1.
inline double gamma(double n) {
  return n * kUnitF32 / (1.0 - n * kUnitF32);
}

// bf16 by its definition: the nearer of the two neighbours, on a tie the one with an even last bit.
inline double rounded_to(DType dtype, double value) {
  const auto as_float = static_cast<float>(value);
  if (dtype == DType::f32) return static_cast<double>(as_float);
  const auto below = std::bit_cast<std::uint32_t>(as_float) & 0xFFFF0000U;
  const double low = static_cast<double>(std::bit_cast<float>(below));
  const double high = static_cast<double>(std::bit_cast<float>(below + 0x10000U));
  // Above the largest value is infinity, which stands for 2^128 here.
  const double high_place = std::isinf(high) ? std::copysign(0x1p128, high) : high;
  const double to_low = std::abs(static_cast<double>(as_float) - low);
  const double to_high = std::abs(high_place - static_cast<double>(as_float));
  if (to_low != to_high) return to_low < to_high ? low : high;
  return (below & 0x10000U) == 0 ? low : high;
}

class Operand {
 public:
  // Filled with zeros.
  Operand(DType dtype, Shape shape)
      : view_{nullptr, dtype, shape}, memory_(allocate_operand(static_cast<std::size_t>(view_.bytes()))) {
    view_.data = memory_.get();
    std::memset(view_.data, 0, static_cast<std::size_t>(view_.bytes()));
  }
  // `values` must be exact in dtype, or they are rounded to it.
  Operand(DType dtype, Shape shape, const Values& values) : Operand(dtype, shape) { set(values); }

  // A host that reads or writes through it must first wait for the operations.
  const TensorView& view() const { return view_; }
  operator TensorView() const { return view(); }

  void set(const Values& values) {
    wait_for_ops();
    if (values.size() != size()) throw std::logic_error("operand: wrong number of values");
    for (std::size_t i = 0; i < size(); ++i) set_at(i, values[i]);
  }

  Values values() const {
    wait_for_ops();
    Values out(size());
    for (std::size_t i = 0; i < size(); ++i) out[i] = at(i);
    return out;
  }

  std::vector<unsigned char> bytes() const {
    wait_for_ops();
    const auto* const first = static_cast<const unsigned char*>(view_.data);
    return {first, first + view_.bytes()};
  }

  std::size_t size() const { return static_cast<std::size_t>(view_.elements()); }
  DType dtype() const { return view_.dtype; }

 private:
  struct Free {
    void operator()(void* memory) const { free_operand(memory); }
  };

  void set_at(std::size_t i, double value) {
    const TensorView& v = view_;
    if (v.dtype == DType::f32) v.as<float>()[i] = static_cast<float>(value);
    if (v.dtype == DType::f64) v.as<double>()[i] = value;
    if (v.dtype == DType::i32) v.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
    if (v.dtype == DType::bf16) {
      const auto exact = static_cast<float>(rounded_to(DType::bf16, value));
      v.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(exact) >> 16);
    }
  }
  double at(std::size_t i) const {
    const TensorView& v = view_;
    if (v.dtype == DType::f32) return static_cast<double>(v.as<float>()[i]);
    if (v.dtype == DType::f64) return v.as<double>()[i];
    if (v.dtype == DType::i32) return static_cast<double>(v.as<std::int32_t>()[i]);
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v.as<std::uint16_t>()[i]) << 16));
  }

  TensorView view_;
  std::unique_ptr<void, Free> memory_;
};

// Normal deviates that dtype holds exactly.
inline Operand random_operand(DType dtype, Shape shape, unsigned seed, double mean = 0.0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(mean, 1.0);
  Values values(static_cast<std::size_t>(shape.elements()));
  for (auto& v : values) v = rounded_to(dtype, normal(generator));
  return {dtype, shape, values};
}

inline Operand random_ids(Shape shape, std::int32_t below, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::int32_t> any(0, below - 1);
  Values values(static_cast<std::size_t>(shape.elements()));
  for (auto& v : values) v = any(generator);
  return {DType::i32, shape, values};
}

}  // namespace perfbench::engine::oracle
