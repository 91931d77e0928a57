#include <gtest/gtest.h>

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

struct Product {
  DType operands;
  DType result;
  ProductSize size;
  Transpose transpose_a;
  Transpose transpose_b;
  Write write = Write::overwrite;
  bool bias = false;
};

// A sum of k products in any order errs by at most gamma_k times the sum of their magnitudes (Higham, 3.5); adding the
// old value or a bias is one more term. The result's own rounding is expect_within's.
void check(Ops& ops, const Product& p) {
  const auto [m, n, k] = p.size;
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (p.transpose_a == Transpose::yes ? " T" : " N")
                                  << (p.transpose_b == Transpose::yes ? "T" : "N") << " -> " << dtype_name(p.result));
  const auto a = random_operand(p.operands, stored(m, k, p.transpose_a), 1);
  const auto b = random_operand(p.operands, stored(k, n, p.transpose_b), 2);
  const auto c = random_operand(p.result, Shape{m, n}, 3);
  const auto bias = random_operand(p.operands, Shape{n}, 4);
  auto want = oracle::matmul(a.values(), p.transpose_a, b.values(), p.transpose_b, p.size);
  const Values extra = p.bias ? bias.values() : c.values();
  if (p.bias || p.write == Write::accumulate) {
    for (std::size_t i = 0; i < want.value.size(); ++i) {
      const double term = p.bias ? extra[i % oracle::index(n)] : extra[i];
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
              .bias_n = p.bias ? bias.view() : TensorView{}});
  const double relative = oracle::gamma(static_cast<double>(k) + 1);
  expect_within(
      c, want.value, [&](std::size_t i) { return relative * want.magnitude[i]; }, "product");
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

TEST_F(Matmul, Bf16OperandsLargerThanOnePanel) {
  check(*ops_, {DType::bf16, DType::bf16, {70, 1100, 5}, Transpose::no, Transpose::yes});
  check(*ops_, {DType::bf16, DType::f32, {1100, 70, 5}, Transpose::yes, Transpose::no, Write::accumulate});
  check(*ops_, {DType::bf16, DType::bf16, {5, 70, 40000}, Transpose::yes, Transpose::no});
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
