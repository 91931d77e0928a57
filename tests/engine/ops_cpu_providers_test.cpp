// Every library of fp32 matrix products that is built in, not only the one in use.
#include <gtest/gtest.h>

#include "engine/ops/cpu/matmul_provider.h"
#include "tests/engine/matmul_cases.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::random_operand;
using oracle::Values;

TEST(MatmulProviders, EveryProviderEqualsTheOracle) {
  for (const auto& provider : cpu::matmul_providers()) {
    for (const auto& [m, n, k] : kSizes) {
      for (const auto ta : kBoth) {
        for (const auto tb : kBoth) {
          SCOPED_TRACE(testing::Message() << provider.name << " " << m << "x" << n << "x" << k);
          const auto a = random_operand(DType::f32, stored(m, k, ta), 1);
          const auto b = random_operand(DType::f32, stored(k, n, tb), 2);
          const auto c = random_operand(DType::f32, Shape{m, n}, 3);
          auto want = oracle::matmul(a.values(), ta, b.values(), tb, {m, n, k});
          const Values old = c.values();
          for (std::size_t i = 0; i < old.size(); ++i) {
            want.value[i] += old[i];
            want.magnitude[i] += std::abs(old[i]);
          }
          provider.sgemm({ta, tb, m, n, k, a.view().as<float>(), a.view().shape[1], b.view().as<float>(),
                          b.view().shape[1], c.view().as<float>(), n, Write::accumulate});
          const double relative = oracle::gamma(static_cast<double>(k) + 1);
          expect_within(
              c, want.value, [&](std::size_t i) { return relative * want.magnitude[i]; }, provider.name);
        }
      }
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
