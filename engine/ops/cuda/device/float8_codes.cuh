// Rounds to the 8-bit formats with the device's own conversion: one instruction for two numbers, where the formula of
// engine/core/float8.h takes some 35 for each. The codes are the same, except that a NaN has no sign.
#pragma once

#if defined(__CUDACC__)
#include <cuda_fp8.h>
#endif

#include "engine/core/float8.h"
#include "engine/ops/cuda/device/elements.cuh"

namespace perfbench::engine::cuda {

template <int N>
__device__ inline Pack<std::uint8_t, N> float8_codes(const Float8Format& format, const float (&x)[N]) {
  Pack<std::uint8_t, N> codes;
#if defined(__CUDACC__)
  static_assert(N % 2 == 0);
  const auto interpretation = format.mantissa_bits == kE4m3.mantissa_bits ? __NV_E4M3 : __NV_E5M2;
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const __nv_fp8x2_storage_t two = __nv_cvt_float2_to_fp8x2({x[i], x[i + 1]}, __NV_SATFINITE, interpretation);
    codes.at[i] = static_cast<std::uint8_t>(two & 0xFFU);
    codes.at[i + 1] = static_cast<std::uint8_t>(two >> 8);
  }
#else
  for (int i = 0; i < N; ++i) codes.at[i] = float8_code(format, __float_as_uint(x[i]));
#endif
  return codes;
}

}  // namespace perfbench::engine::cuda
