// Elementary functions on one Vec, by range reduction and polynomials (Chebyshev interpolation of the reduced
// function). tests/engine/ops_vector_math_test.cpp checks the stated errors. A NaN gives a NaN.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "engine/ops/cpu/vector.h"

namespace perfbench::engine::cpu {

inline constexpr float kLog2E = 1.44269504088896341F;
inline constexpr float kLn2 = 0.693147180559945309F;

namespace vector_math_detail {

#if defined(__AVX512F__)
// Uses the forms with a mask, because g++ 12 reports an uninitialised operand in the others (GCC bug 105593). The
// generated code has no mask.
inline constexpr __mmask16 kAll = 0xFFFF;
#endif

}  // namespace vector_math_detail

// min(y, high); a NaN stays a NaN.
inline Vec at_most(Vec y, float high) {
#if defined(__AVX512F__)
  // The result is the second operand if one is a NaN.
  return _mm512_maskz_min_ps(vector_math_detail::kAll, _mm512_set1_ps(high), y);
#else
  return select(y > splat(high), splat(high), y);
#endif
}

namespace vector_math_detail {

inline Vec nearest_integer(Vec y) {
#if defined(__AVX512F__)
  return _mm512_maskz_roundscale_ps(kAll, y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: pushes the fraction out of the significand
  return (y + kRounder) - kRounder;
#endif
}

// p 2^n for an integer n <= 129, 1/2 <= p <= 2; 0 where x < lowest. `lowest` keeps p 2^n a normal number, because
// denormals are a hundred times slower.
inline Vec scale_or_zero(Vec p, Vec n, Vec x, float lowest) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(lowest), _CMP_NLT_UQ), p, n);
#else
  // In two steps, so that each power of two is a normal number.
  const IntVec whole = __builtin_convertvector(n, IntVec);
  const IntVec half = whole >> 1;
  const Vec scaled = p * reinterpret_cast<Vec>((half + 127) << 23) * reinterpret_cast<Vec>((whole - half + 127) << 23);
  return select(x < splat(lowest), Vec{}, scaled);
#endif
}

}  // namespace vector_math_detail

// 2^y. Relative error at most 2^-22.5 for -126 <= y < 128; 0 below, infinity above.
inline Vec exp2(Vec y) {
  const Vec capped = at_most(y, 129.0F);
  const Vec n = vector_math_detail::nearest_integer(capped);
  const Vec f = capped - n;
  Vec p = f * 1.545336197e-04F + 1.339109325e-03F;
  p = p * f + 9.618082183e-03F;
  p = p * f + 5.550356682e-02F;
  p = p * f + 2.402265076e-01F;
  p = p * f + 6.931471881e-01F;
  p = p * f + 1.0F;
  return vector_math_detail::scale_or_zero(p, n, y, -126.0F);
}

// e^x. Relative error at most 2^-22.5 for -87.3 <= x < 88.7; 0 below, infinity above.
inline Vec exp(Vec x) {
  const Vec capped = at_most(x, 89.4F);
  const Vec n = vector_math_detail::nearest_integer(capped * kLog2E);
  // ln 2 in two parts. The first ends in zero bits, so n * 0.693359375 is exact.
  const Vec r = (capped - n * 0.693359375F) + n * 2.12194440e-4F;
  Vec q = r * 1.392639190e-03F + 8.363345811e-03F;
  q = q * r + 4.166655336e-02F;
  q = q * r + 1.666657599e-01F;
  q = q * r + 0.5F;
  const Vec p = (q * (r * r) + r) + 1.0F;
  return vector_math_detail::scale_or_zero(p, n, x, -87.3F);
}

// 1 / (1 + e^-x). Relative error at most 2^-21 for x > -87.
inline Vec sigmoid(Vec x) {
  return 1.0F / (1.0F + exp(-x));
}

// Error at most 2^-22 absolute. Below 1: z P(z^2); above: 1 - 2^-Q(|z|), which is 1 in f32 from 4 on.
inline Vec erf(Vec z) {
  const auto sign = reinterpret_cast<UintVec>(z) & 0x80000000U;
  const Vec magnitude = reinterpret_cast<Vec>(reinterpret_cast<UintVec>(z) ^ sign);
  const Vec t = z * z;
  Vec small = t * 7.875875050e-05F - 8.016864283e-04F;
  small = small * t + 5.189087423e-03F;
  small = small * t - 2.685421201e-02F;
  small = small * t + 1.128359472e-01F;
  small = small * t - 3.761262667e-01F;
  small = small * t + 1.128379166e+00F;
  small = small * z;
  const Vec a = select(magnitude > splat(4.0F), splat(4.0F), magnitude);
  Vec q = a * -2.361910226e-06F + 6.644770977e-05F;
  q = q * a - 8.610085164e-04F;
  q = q * a + 6.866645968e-03F;
  q = q * a - 3.811764189e-02F;
  q = q * a + 1.588119898e-01F;
  q = q * a + 9.115323113e-01F;
  q = q * a + 1.630582171e+00F;
  q = q * a - 4.618615762e-04F;
  const Vec large = reinterpret_cast<Vec>(reinterpret_cast<UintVec>(1.0F - exp2(-q)) | sign);
  return select(magnitude < splat(1.0F), small, large);
}

}  // namespace perfbench::engine::cpu
