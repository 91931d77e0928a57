#include <gtest/gtest.h>

#include "tests/engine/matmul_cases.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/rows.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::Operand;
using oracle::ProductSize;
using oracle::random_operand;
using oracle::Values;

struct Product {
  DType operands;
  DType result;
  ProductSize size;
  Transpose transpose_a;
  Transpose transpose_b;
  Write write = Write::overwrite;
  bool bias = false;
  float factor = 1.0F;
};

// A sum of k products in any order errs by at most gamma_k times the sum of their magnitudes (Higham, 3.5); adding the
// old value or a bias is one more term. expect_within covers the result's own rounding.
void check(Ops& ops, const Product& p) {
  const auto [m, n, k] = p.size;
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (p.transpose_a == Transpose::yes ? " T" : " N")
                                  << (p.transpose_b == Transpose::yes ? "T" : "N") << " -> " << dtype_name(p.result));
  const auto a = random_operand(p.operands, stored(m, k, p.transpose_a), 1);
  const auto b = random_operand(p.operands, stored(k, n, p.transpose_b), 2);
  const auto c = random_operand(p.result, Shape{m, n}, 3);
  const auto bias = random_operand(p.operands, Shape{n}, 4);
  auto want = oracle::matmul(a.values(), p.transpose_a, b.values(), p.transpose_b, p.size);
  for (auto* of : {&want.value, &want.magnitude}) {
    for (auto& x : *of) x *= p.factor;
  }
  const Values extra = p.bias ? bias.values() : c.values();
  Values rounded_before(want.value.size());
  if (p.bias || p.write == Write::accumulate) {
    for (std::size_t i = 0; i < want.value.size(); ++i) {
      const double term = p.bias ? extra[i % oracle::index(n)] : extra[i];
      rounded_before[i] = rounding_before_adding(p.result, want.value[i]);
      want.value[i] += term;
      want.magnitude[i] += std::abs(term);
    }
  }
  ops.matmul({.a = a,
              .b = b,
              .c = c,
              .transpose_a = p.transpose_a,
              .transpose_b = p.transpose_b,
              .write = p.write,
              .bias_n = p.bias ? bias.view() : TensorView{},
              .factor = p.factor});
  const double relative = oracle::gamma(static_cast<double>(k) + (p.factor == 1.0F ? 1 : 2));
  expect_within(
      c, want.value, [&](std::size_t i) { return relative * want.magnitude[i] + rounded_before[i]; }, "product");
}

class Matmul : public OpsTest {};

TEST_F(Matmul, EqualsTheOracleInF32ForEveryTransposition) {
  for (const auto& size : kSizes) {
    for (const auto a : kBoth) {
      for (const auto b : kBoth) {
        check(*ops_, {DType::f32, DType::f32, size, a, b});
        check(*ops_, {DType::f32, DType::f32, size, a, b, Write::accumulate});
        check(*ops_, {DType::f32, DType::f32, size, a, b, Write::overwrite, true});
      }
    }
  }
}

TEST_F(Matmul, RoundsBf16ResultsOnceAndAccumulatesInF32) {
  for (const auto& size : kSizes) {
    for (const auto a : kBoth) {
      for (const auto b : kBoth) {
        for (const auto result : {DType::bf16, DType::f32}) {
          check(*ops_, {DType::bf16, result, size, a, b});
          check(*ops_, {DType::bf16, result, size, a, b, Write::accumulate});
          check(*ops_, {DType::bf16, result, size, a, b, Write::overwrite, true});
        }
      }
    }
  }
}

// The factor applies only to the product, not to what it is added to. A library may handle a factor separately for each
// transposition.
TEST_F(Matmul, MultipliesTheProductByAFactor) {
  for (const auto& size : kSizes) {
    for (const auto a : kBoth) {
      for (const auto b : kBoth) {
        for (const auto result : {DType::bf16, DType::f32}) {
          for (const auto write : {Write::overwrite, Write::accumulate}) {
            check(*ops_, {DType::bf16, result, size, a, b, write, false, 1.5F});
            if (result == DType::f32) check(*ops_, {DType::f32, result, size, a, b, write, false, 0.375F});
          }
        }
      }
    }
    check(*ops_, {DType::f32, DType::f32, size, Transpose::no, Transpose::yes, Write::overwrite, true, 3.0F});
  }
}

TEST_F(Matmul, Bf16OperandsLargerThanOnePanel) {
  check(*ops_, {DType::bf16, DType::bf16, {70, 1100, 5}, Transpose::no, Transpose::yes});
  check(*ops_, {DType::bf16, DType::f32, {1100, 70, 5}, Transpose::yes, Transpose::no, Write::accumulate});
  check(*ops_, {DType::bf16, DType::bf16, {5, 70, 40000}, Transpose::yes, Transpose::no});
}

// gelu and its slope change by at most 1.13 times as much as their argument (the slope's own slope is below 1.2). z may
// first be rounded to its storage type; the tanh of a bf16 result may be the hardware's, with an error of 2^-11 (PTX
// ISA, tanh.approx.f32).
struct GeluError {
  DType dtype;
  double of_sum(double error) const { return 1.2 * error; }
  double of_function(double z) const {
    const double vector_math = (1.0 + std::abs(z) * (1.0 + z * z)) * 16.0 * oracle::kUnitF32;
    if (dtype == DType::f32) return vector_math + oracle::kUnitF32 * std::abs(z);
    return vector_math + 0x1p-11 * (1.0 + std::abs(z)) + 1.2 * oracle::kUnitBf16 * std::abs(z);
  }
};

struct GeluProduct {
  GeluProduct(DType dtype, ProductSize size, Transpose transpose_b)
      : args_size(size),
        a(random_operand(dtype, Shape{size.m, size.k}, 1)),
        b(random_operand(dtype, stored(size.k, size.n, transpose_b), 2)),
        c(dtype, Shape{size.m, size.n}),
        z(random_operand(dtype, Shape{size.m, size.n}, 3)),
        want(oracle::matmul(a.values(), Transpose::no, b.values(), transpose_b, size)),
        rounded_before(want.value.size()),
        args{.a = a, .b = b, .c = c, .transpose_b = transpose_b, .preactivation = z} {}
  double sum_error(std::size_t i) const {
    return oracle::gamma(static_cast<double>(args_size.k) + 1) * want.magnitude[i] + rounded_before[i];
  }

  ProductSize args_size;
  Operand a, b, c, z;
  oracle::WithMagnitude want;
  Values rounded_before;
  MatmulArgs args;
};

void check_gelu(Ops& ops, DType dtype, ProductSize size, bool has_bias) {
  GeluProduct p(dtype, size, Transpose::yes);
  const auto bias = random_operand(dtype, Shape{size.n}, 4);
  const auto terms = bias.values();
  for (std::size_t i = 0; has_bias && i < p.want.value.size(); ++i) {
    p.rounded_before[i] = rounding_before_adding(dtype, p.want.value[i]);
    p.want.value[i] += terms[i % oracle::index(size.n)];
    p.want.magnitude[i] += std::abs(terms[i % oracle::index(size.n)]);
  }
  p.args.epilogue = Epilogue::gelu_tanh;
  if (has_bias) p.args.bias_n = bias;
  ops.matmul(p.args);
  expect_within(
      p.z, p.want.value, [&](std::size_t i) { return p.sum_error(i); }, "pre-activation");
  Values activated = p.want.value;
  for (auto& z : activated) z = oracle::activation(z, spec::Activation::gelu_tanh);
  const GeluError error{dtype};
  expect_within(
      p.c, activated, [&](std::size_t i) { return error.of_sum(p.sum_error(i)) + error.of_function(p.want.value[i]); },
      "gelu");
}

void check_gelu_gradient(Ops& ops, DType dtype, ProductSize size) {
  GeluProduct p(dtype, size, Transpose::no);
  p.args.epilogue = Epilogue::gelu_tanh_gradient;
  ops.matmul(p.args);
  const auto zs = p.z.values();
  Values gradient = p.want.value;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] *= oracle::activation_slope(zs[i], spec::Activation::gelu_tanh);
  }
  const GeluError error{dtype};
  expect_within(
      p.c, gradient,
      [&](std::size_t i) {
        const double sum = std::abs(p.want.value[i]);
        return error.of_sum(p.sum_error(i) + oracle::unit_of(dtype) * sum) + error.of_function(zs[i]) * sum;
      },
      "gradient");
}

// Rows of a multiple of eight elements, which a library's epilogue supports, and others.
TEST_F(Matmul, GeluAndItsGradientAreEpilogues) {
  for (const auto dtype : {DType::f32, DType::bf16}) {
    for (const ProductSize size : {ProductSize{5, 16, 33}, {33, 24, 7}, {3, 13, 9}, {7, 8, 1}, {1, 64, 130}}) {
      SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " " << size.m << "x" << size.n << "x" << size.k);
      for (const bool bias : {false, true}) check_gelu(*ops_, dtype, size, bias);
      check_gelu_gradient(*ops_, dtype, size);
    }
  }
}

TEST_F(Matmul, LetsANanThrough) {
  for (const auto dtype : {DType::f32, DType::bf16}) {
    Operand a(dtype, Shape{3, 4}, Values(12, 1.0));
    auto poisoned = a.values();
    poisoned[5] = NAN;
    if (dtype == DType::f32) a.set(poisoned);
    if (dtype == DType::bf16) a.view().as<std::uint16_t>()[5] = 0x7FC0;
    const Operand b(dtype, Shape{4, 5}, Values(20, 0.0));
    const Operand c(dtype, Shape{3, 5});
    ops_->matmul({.a = a, .b = b, .c = c});
    for (std::size_t j = 0; j < 5; ++j) EXPECT_TRUE(std::isnan(c.values()[5 + j]));
  }
}

}  // namespace
}  // namespace perfbench::engine
