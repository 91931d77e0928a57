// Tests every library of fp32 matrix products that is built in, not only the one in use.
#include <gtest/gtest.h>

#include "engine/ops/cpu/matmul_provider.h"
#include "tests/engine/matmul_cases.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::random_operand;
using oracle::Values;

void expect_product(const cpu::MatmulProvider& provider, oracle::ProductSize size, Transpose ta, Transpose tb,
                    Write write) {
  const auto [m, n, k] = size;
  const auto a = random_operand(DType::f32, stored(m, k, ta), 1);
  const auto b = random_operand(DType::f32, stored(k, n, tb), 2);
  const auto c = random_operand(DType::f32, Shape{m, n}, 3);
  auto want = oracle::matmul(a.values(), ta, b.values(), tb, size);
  const Values old = c.values();
  for (std::size_t i = 0; i < old.size() && write == Write::accumulate; ++i) {
    want.value[i] += old[i];
    want.magnitude[i] += std::abs(old[i]);
  }
  provider.sgemm({ta, tb, m, n, k, a.view().as<float>(), a.view().shape[1], b.view().as<float>(), b.view().shape[1],
                  c.view().as<float>(), n, write});
  const double relative = oracle::gamma(static_cast<double>(k) + 1);
  expect_within(
      c, want.value, [&](std::size_t i) { return relative * want.magnitude[i]; }, provider.name);
}

TEST(MatmulProviders, EveryProviderEqualsTheOracle) {
  for (const auto& provider : cpu::matmul_providers()) {
    for (const auto& size : kSizes) {
      for (const auto ta : kBoth) {
        for (const auto tb : kBoth) {
          for (const auto write : {Write::overwrite, Write::accumulate}) {
            SCOPED_TRACE(testing::Message() << provider.name << " " << size.m << "x" << size.n << "x" << size.k);
            expect_product(provider, size, ta, tb, write);
          }
        }
      }
    }
  }
}

// A library may choose its method by the number of rows of a, and for rows of b that are pages apart; its preparation
// for a shape is reused for other operands.
TEST(MatmulProviders, ManyRowsAndRowsThatLiePagesApartTwice) {
  for (const auto& provider : cpu::matmul_providers()) {
    for (const oracle::ProductSize size : {oracle::ProductSize{256, 17, 40}, {257, 17, 40}, {300, 9, 1024}}) {
      for (int time = 0; time < 2; ++time) {
        SCOPED_TRACE(testing::Message() << provider.name << " " << size.m << "x" << size.n << "x" << size.k);
        expect_product(provider, size, Transpose::no, Transpose::yes, Write::overwrite);
      }
    }
  }
}

// A panel of a product: rows of a, b and c are parts of longer ones.
TEST(MatmulProviders, RowsOfALongerStride) {
  constexpr std::int64_t kM = 5, kN = 19, kK = 33, kA = 40, kB = 64, kC = 23;
  for (const auto& provider : cpu::matmul_providers()) {
    SCOPED_TRACE(provider.name);
    const auto a = random_operand(DType::f32, Shape{kM, kA}, 1);
    const auto b = random_operand(DType::f32, Shape{kN, kB}, 2);
    const auto c = random_operand(DType::f32, Shape{kM, kC}, 3);
    const Values old = c.values();
    provider.sgemm({Transpose::no, Transpose::yes, kM, kN, kK, a.view().as<float>(), kA, b.view().as<float>(), kB,
                    c.view().as<float>(), kC});
    const Values a_values = a.values();
    const Values b_values = b.values();
    const Values got = c.values();
    for (std::int64_t i = 0; i < kM; ++i) {
      for (std::int64_t j = 0; j < kC; ++j) {
        const auto at = static_cast<std::size_t>(i * kC + j);
        if (j >= kN) {
          EXPECT_EQ(got[at], old[at]) << "beyond the result, row " << i << ", column " << j;
          continue;
        }
        double want = 0;
        double magnitude = 0;
        for (std::int64_t k = 0; k < kK; ++k) {
          const double term =
              a_values[static_cast<std::size_t>(i * kA + k)] * b_values[static_cast<std::size_t>(j * kB + k)];
          want += term;
          magnitude += std::abs(term);
        }
        EXPECT_NEAR(got[at], want, oracle::gamma(kK) * magnitude) << "row " << i << ", column " << j;
      }
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
