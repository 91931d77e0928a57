// The stated errors of vector_math.h, over dense samples of each function's domain.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

template <class F, class Reference, class Size>
double worst_error(double from, double to, F f, Reference reference, Size size) {
  constexpr int kSamples = 200000;
  double worst = 0.0;
  for (int i = 0; i <= kSamples; ++i) {
    const auto x = static_cast<float>(from + (to - from) * i / kSamples);
    const double want = reference(static_cast<double>(x));
    const double error = std::abs(static_cast<double>(f(splat(x))[0]) - want) / size(want);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

constexpr auto kRelative = [](double want) { return std::abs(want); };
constexpr auto kAbsolute = [](double) { return 1.0; };
const double kBound = std::exp2(-22.5);

TEST(VectorMath, Exp2) {
  const auto reference = [](double x) { return std::exp2(x); };
  EXPECT_LE(worst_error(
                -126, 127.999, [](Vec x) { return exp2(x); }, reference, kRelative),
            kBound);
  EXPECT_LE(worst_error(
                -2, 2, [](Vec x) { return exp2(x); }, reference, kRelative),
            kBound);
}

TEST(VectorMath, Exp) {
  const auto reference = [](double x) { return std::exp(x); };
  EXPECT_LE(worst_error(
                -87.3, 88.7, [](Vec x) { return exp(x); }, reference, kRelative),
            kBound);
  EXPECT_LE(worst_error(
                -1, 1, [](Vec x) { return exp(x); }, reference, kRelative),
            kBound);
}

TEST(VectorMath, Sigmoid) {
  const auto reference = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  EXPECT_LE(worst_error(
                -87, 87, [](Vec x) { return sigmoid(x); }, reference, kRelative),
            0x1p-21);
}

TEST(VectorMath, Erf) {
  const auto reference = [](double x) { return std::erf(x); };
  EXPECT_LE(worst_error(
                -6, 6, [](Vec x) { return erf(x); }, reference, kAbsolute),
            0x1p-22);
  EXPECT_LE(worst_error(
                0.99, 1.01, [](Vec x) { return erf(x); }, reference, kAbsolute),
            0x1p-22);
}

TEST(VectorMath, LimitsAndNan) {
  EXPECT_EQ(exp(splat(-200.0F))[0], 0.0F);
  EXPECT_EQ(exp(splat(-INFINITY))[0], 0.0F);
  EXPECT_EQ(exp(splat(200.0F))[0], INFINITY);
  EXPECT_EQ(exp2(splat(-INFINITY))[0], 0.0F);
  EXPECT_EQ(exp2(splat(300.0F))[0], INFINITY);
  EXPECT_EQ(exp2(splat(0.0F))[0], 1.0F);
  EXPECT_EQ(exp(splat(0.0F))[0], 1.0F);
  EXPECT_EQ(erf(splat(40.0F))[0], 1.0F);
  EXPECT_EQ(erf(splat(-40.0F))[0], -1.0F);
  for (const float nan : {NAN, -NAN}) {
    EXPECT_TRUE(std::isnan(exp(splat(nan))[0]));
    EXPECT_TRUE(std::isnan(exp2(splat(nan))[0]));
    EXPECT_TRUE(std::isnan(sigmoid(splat(nan))[0]));
    EXPECT_TRUE(std::isnan(erf(splat(nan))[0]));
  }
}

}  // namespace
}  // namespace perfbench::engine::cpu
