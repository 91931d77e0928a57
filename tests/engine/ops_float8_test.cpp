// Rounding to 8 bits with a scale, the scales, and products of rounded values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/core/float8.h"
#include "tests/engine/matmul_cases.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::Operand;
using oracle::ProductSize;
using oracle::random_operand;
using oracle::Values;

class Float8Ops : public OpsTest {};

struct State {
  State() : State(0.0, 1.0) {}
  State(double met, double factor)
      : amax(DType::f32, Shape{1}, {met}),
        scale(DType::f32, Shape{1}, {factor}),
        inverse(DType::f32, Shape{1}, {1.0 / factor}) {}
  QuantizationState view() const { return {.amax = amax, .scale = scale, .inverse_scale = inverse}; }
  Operand amax, scale, inverse;
};

// core_float8_test.cpp compares float8_code with its definition.
std::vector<unsigned char> codes(DType dtype, const Values& values, double scale) {
  std::vector<unsigned char> out;
  for (const double x : values) {
    const float scaled = static_cast<float>(x) * static_cast<float>(scale);
    out.push_back(float8_code(float8_format(dtype), std::bit_cast<std::uint32_t>(scaled)));
  }
  return out;
}

double largest_magnitude(const Values& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

constexpr DType kEightBits[] = {DType::e4m3, DType::e5m2};

TEST_F(Float8Ops, DelayedScalesComeFromTheStateAndAmaxGrows) {
  for (const auto to : kEightBits) {
    for (const auto from : {DType::f32, DType::bf16}) {
      for (const Shape shape : {Shape{1, 1}, Shape{3, 7}, Shape{300, 129}}) {
        const auto x = random_operand(from, shape, 5);
        const Operand out(to, shape);
        State state(0.25, 96.0);
        const QuantizeArgs::Rounded tensor{out.view(), x.view()};
        const QuantizeArgs args{.tensors = {&tensor, 1}, .state = state.view()};
        ops_->quantize(args);
        EXPECT_EQ(out.bytes(), codes(to, x.values(), 96.0));
        EXPECT_EQ(state.amax.values()[0], std::max(0.25, largest_magnitude(x.values())));
        EXPECT_EQ(state.scale.values()[0], 96.0);
        const double before = state.amax.values()[0];
        ops_->quantize(args);  // as for a recomputed layer
        EXPECT_EQ(state.amax.values()[0], before);
      }
    }
  }
}

TEST_F(Float8Ops, CurrentScalesCoverAllTensors) {
  for (const auto to : kEightBits) {
    const auto small = random_operand(DType::bf16, Shape{5, 33}, 1);
    const Operand big(DType::bf16, Shape{2, 33}, Values(66, -7.0));
    const Operand of_small(to, Shape{5, 33});
    const Operand of_big(to, Shape{2, 33});
    State state(1e6, 3.0);  // an old value that must not matter
    const QuantizeArgs::Rounded tensors[] = {{of_small.view(), small.view()}, {of_big.view(), big.view()}};
    ops_->quantize({.tensors = tensors, .state = state.view(), .scaling = spec::Fp8Scaling::current});
    const double scale = (to == DType::e4m3 ? 448.0 : 57344.0) / 7.0;
    EXPECT_EQ(state.amax.values()[0], 7.0);
    EXPECT_EQ(state.scale.values()[0], scale);
    EXPECT_EQ(state.inverse.values()[0], static_cast<double>(1.0F / static_cast<float>(scale)));
    EXPECT_EQ(of_small.bytes(), codes(to, small.values(), scale));
    EXPECT_EQ(of_big.bytes(), codes(to, big.values(), scale));
  }
}

// Columns of a wider matrix are rounded into columns of another one; memory beside them stays unchanged.
TEST_F(Float8Ops, RowsMayLieApart) {
  const auto x = random_operand(DType::bf16, Shape{40, 24}, 3);
  const Operand out(DType::e4m3, Shape{40, 10});
  State state(0.0, 32.0);
  const QuantizeArgs::Rounded tensor{RowsView(out.view()).columns(3, 5), RowsView(x.view()).columns(8, 5)};
  ops_->quantize({.tensors = {&tensor, 1}, .state = state.view()});
  std::vector<unsigned char> want(400);
  double most = 0;
  for (std::size_t r = 0; r < 40; ++r) {
    for (std::size_t c = 0; c < 5; ++c) {
      const double value = x.values()[r * 24 + 8 + c];
      most = std::max(most, std::abs(value));
      want[r * 10 + 3 + c] = codes(DType::e4m3, {value}, 32.0)[0];
    }
  }
  EXPECT_EQ(out.bytes(), want);
  EXPECT_EQ(state.amax.values()[0], most);
}

// A NaN does not count as a magnitude and stays a NaN; a tensor of zeros has no scale.
TEST_F(Float8Ops, NansDoNotAffectTheScale) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Operand x(DType::f32, Shape{1, 4}, {nan, -2.0, 1.0, nan});
  const Operand out(DType::e5m2, Shape{1, 4});
  State state;
  const QuantizeArgs::Rounded tensor{out.view(), x.view()};
  ops_->quantize({.tensors = {&tensor, 1}, .state = state.view(), .scaling = spec::Fp8Scaling::current});
  EXPECT_EQ(state.amax.values()[0], 2.0);
  EXPECT_TRUE(std::isnan(float8_value(kE5m2, out.bytes()[0])));
  EXPECT_EQ(float8_value(kE5m2, out.bytes()[1]), -57344.0F);
  const Operand zeros(DType::f32, Shape{1, 4});
  const QuantizeArgs::Rounded nothing{out.view(), zeros.view()};
  ops_->quantize({.tensors = {&nothing, 1}, .state = state.view(), .scaling = spec::Fp8Scaling::current});
  EXPECT_EQ(state.scale.values()[0], 1.0);
  EXPECT_EQ(out.bytes(), std::vector<unsigned char>(4, 0));
}

// A history of three steps for two tensors, computed by hand: 448 over the largest amax of the last three steps.
TEST_F(Float8Ops, ScalesLookBackAsFarAsTheHistory) {
  const Operand amax(DType::f32, Shape{2});
  const Operand history(DType::f32, Shape{3, 2});
  const Operand scale(DType::f32, Shape{2}, {1.0, 1.0});
  const Operand inverse(DType::f32, Shape{2, 1}, {1.0, 1.0});
  struct Step {
    Values amax;
    Values scale;
  };
  const std::vector<Step> steps{{{7.0, 0.0}, {64.0, 1.0}},      // nothing is known of the second yet
                                {{3.5, 14.0}, {64.0, 32.0}},    // 7 is larger
                                {{1.75, 28.0}, {64.0, 16.0}},   // and is still in the history
                                {{0.875, 0.5}, {128.0, 16.0}},  // 3.5 is the largest now
                                {{0.0, 0.5}, {256.0, 16.0}},   {{0.0, 0.5}, {512.0, 896.0}},
                                {{0.0, 0.5}, {1.0, 896.0}}};
  for (const auto& step : steps) {
    Operand met(DType::f32, Shape{2}, step.amax);
    ops_->copy(amax, met);
    ops_->update_scales(
        {.amax_S = amax, .history_HS = history, .scale_S = scale, .inverse_scale_S1 = inverse, .format = DType::e4m3});
    EXPECT_EQ(scale.values(), step.scale);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(inverse.values()[i], static_cast<double>(static_cast<float>(1.0 / step.scale[i])));
    EXPECT_EQ(amax.values(), Values(2, 0.0));
  }
  ops_->fill(amax, 7.0);
  ops_->update_scales(
      {.amax_S = amax, .history_HS = history, .scale_S = scale, .inverse_scale_S1 = inverse, .format = DType::e5m2});
  EXPECT_EQ(scale.values(), Values(2, 8192.0));
}

// Any number of the format, as f64, and its code.
struct Codes {
  Codes(DType dtype, Shape shape, unsigned seed) : operand(dtype, shape), values(operand.size()) {
    std::mt19937 bits(seed);
    auto* const to = operand.view().as<unsigned char>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Within three binades: if numbers differed by far more, a sum would be the largest number alone.
      const auto& format = float8_format(dtype);
      const auto ones = static_cast<unsigned>(format.bias - 1) << format.mantissa_bits;
      const auto code = static_cast<unsigned char>((bits() & 0x80U) | (ones + bits() % (3U << format.mantissa_bits)));
      to[i] = bits() % 7 == 0 ? static_cast<unsigned char>(bits() % 3) : code;  // also some zeros and subnormal numbers
      values[i] = static_cast<double>(float8_value(format, to[i]));
    }
  }
  Operand operand;
  Values values;
};

struct Float8Product {
  DType a;
  DType b;
  DType result;
  ProductSize size;
  Transpose transpose_a;
  Transpose transpose_b;
  Write write = Write::overwrite;
  bool bias = false;
};

// The possible error of each result because its sums are cut: each product, and each sum of 32 of them to which more
// are added, loses less than 2^-13 of the largest number that it is added to.
Values cut_errors(const Values& a, Transpose transpose_a, const Values& b, Transpose transpose_b,
                  const ProductSize& size) {
  const auto [m, n, k] = size;
  Values out;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, largest = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double product = a[oracle::index(transpose_a == Transpose::yes ? l * m + i : i * k + l)] *
                               b[oracle::index(transpose_b == Transpose::yes ? j * k + l : l * n + j)];
        sum += product;
        largest = std::max({largest, std::abs(product), std::abs(sum)});
      }
      out.push_back(cuts_8_bit_sums() ? 0x1p-13 * static_cast<double>(k + k / 32 + 1) * largest : 0.0);
    }
  }
  return out;
}

// As for other products (ops_matmul_test.cpp): the numbers of the codes are exact, and all scales but one are powers of
// two; the product of that one is rounded once more.
void check_float8(Ops& ops, const Float8Product& p) {
  const auto [m, n, k] = p.size;
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << ' ' << dtype_name(p.a) << ' ' << dtype_name(p.b)
                                  << " -> " << dtype_name(p.result));
  const Codes a(p.a, stored(m, k, p.transpose_a), 1);
  const Codes b(p.b, stored(k, n, p.transpose_b), 2);
  const auto c = random_operand(p.result, Shape{m, n}, 3);
  const auto bias = random_operand(DType::bf16, Shape{n}, 4);
  const Operand inverse_a(DType::f32, Shape{1}, {0.0625});
  const Operand inverse_b(DType::f32, Shape{1}, {static_cast<double>(0.3F)});
  auto want = oracle::matmul(a.values, p.transpose_a, b.values, p.transpose_b, p.size);
  const double factor = 0.0625 * static_cast<double>(0.3F);
  const Values extra = p.bias ? bias.values() : c.values();
  Values device_error = cut_errors(a.values, p.transpose_a, b.values, p.transpose_b, p.size);
  for (std::size_t i = 0; i < want.value.size(); ++i) {
    want.value[i] *= factor;
    want.magnitude[i] *= factor;
    device_error[i] *= factor;
    if (!p.bias && p.write == Write::overwrite) continue;
    device_error[i] += rounding_before_adding(p.result, want.value[i]);
    const double term = p.bias ? extra[i % oracle::index(n)] : extra[i];
    want.value[i] += term;
    want.magnitude[i] += std::abs(term);
  }
  ops.matmul({.a = a.operand.view(),
              .b = b.operand,
              .c = c.view(),
              .transpose_a = p.transpose_a,
              .transpose_b = p.transpose_b,
              .write = p.write,
              .bias_n = p.bias ? bias.view() : TensorView{},
              .inverse_scale_a = inverse_a,
              .inverse_scale_b = inverse_b});
  const double relative = oracle::gamma(static_cast<double>(k) + 3);
  expect_within(
      c, want.value, [&](std::size_t i) { return relative * want.magnitude[i] + device_error[i]; }, "product");
}

void check_float8_products(Ops& ops, const ProductSize& size) {
  for (const auto transpose_a : kBoth) {
    for (const auto transpose_b : kBoth) {
      for (const auto result : {DType::bf16, DType::f32}) {
        for (const auto a : kEightBits) {
          check_float8(ops, {a, DType::e4m3, result, size, transpose_a, transpose_b});
          check_float8(ops, {a, DType::e4m3, result, size, transpose_a, transpose_b, Write::accumulate});
        }
        check_float8(ops, {DType::e4m3, DType::e4m3, result, size, transpose_a, transpose_b, Write::overwrite, true});
      }
    }
  }
}

TEST_F(Float8Ops, ProductsEqualTheOracleOnTheNumbersOfTheCodes) {
  for (const ProductSize& size : {ProductSize{16, 16, 16}, {48, 32, 64}, {16, 80, 304}, {208, 32, 16}}) {
    check_float8_products(*ops_, size);
  }
}

TEST_F(Float8Ops, ProductsOfOddSizesEqualTheOracle) {
  if (!multiplies_odd_8_bit_rows()) GTEST_SKIP() << "such runs are refused (workloads/spec/validate.h, unsupported)";
  for (const auto& size : kSizes) check_float8_products(*ops_, size);
  check_float8(*ops_, {DType::e4m3, DType::e4m3, DType::bf16, {70, 1100, 5}, Transpose::no, Transpose::yes});
}

// Columns of a wider matrix, as the gradients of one of several layers with the same input.
TEST_F(Float8Ops, ProductsTakeRowsThatLieApart) {
  const Codes wide(DType::e5m2, Shape{32, 64}, 1);
  const Codes b(DType::e4m3, Shape{16, 48}, 2);
  const Operand c(DType::f32, Shape{32, 48});
  const Operand one(DType::f32, Shape{1}, {1.0});
  const RowsView a = RowsView(wide.operand.view()).columns(32, 16);
  ops_->matmul({.a = a, .b = b.operand, .c = c.view(), .inverse_scale_a = one, .inverse_scale_b = one});
  Values own;
  for (std::size_t r = 0; r < 32; ++r) {
    for (std::size_t i = 0; i < 16; ++i) own.push_back(wide.values[r * 64 + 32 + i]);
  }
  const ProductSize size{32, 48, 16}, size_dw{16, 48, 32};
  const auto want = oracle::matmul(own, Transpose::no, b.values, Transpose::no, size);
  const auto cut = cut_errors(own, Transpose::no, b.values, Transpose::no, size);
  expect_within(
      c, want.value, [&](std::size_t i) { return oracle::gamma(18) * want.magnitude[i] + cut[i]; }, "product");
  // The gradient of the weights: the same rows, along the other dim.
  const Codes x(DType::e4m3, Shape{32, 48}, 3);
  const Operand dw(DType::f32, Shape{16, 48});
  ops_->matmul({.a = a,
                .b = x.operand,
                .c = dw.view(),
                .transpose_a = Transpose::yes,
                .inverse_scale_a = one,
                .inverse_scale_b = one});
  const auto want_dw = oracle::matmul(own, Transpose::yes, x.values, Transpose::no, size_dw);
  const auto cut_dw = cut_errors(own, Transpose::yes, x.values, Transpose::no, size_dw);
  expect_within(
      dw, want_dw.value, [&](std::size_t i) { return oracle::gamma(34) * want_dw.magnitude[i] + cut_dw[i]; },
      "by the weights");
}

TEST_F(Float8Ops, ProductsNeedBothScales) {
  const Operand a(DType::e4m3, Shape{2, 2});
  const Operand wide(DType::bf16, Shape{2, 2});
  const Operand scale(DType::f32, Shape{1}, {1.0});
  EXPECT_THROW(ops_->matmul({.a = a.view(), .b = a, .c = wide.view()}), LogicFault);
  EXPECT_THROW(ops_->matmul({.a = a.view(), .b = a, .c = wide.view(), .inverse_scale_a = scale}), LogicFault);
  EXPECT_THROW(ops_->matmul({.a = a.view(), .b = wide, .c = wide.view(), .inverse_scale_a = scale}), LogicFault);
  EXPECT_THROW(ops_->matmul({.a = wide.view(), .b = wide, .c = wide.view(), .inverse_scale_a = scale}), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
