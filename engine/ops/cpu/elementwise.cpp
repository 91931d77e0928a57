#include <algorithm>
#include <cstring>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {
namespace {

using cpu::Bf16;
constexpr std::int64_t kBlock = 16384;

template <class F>
void over_blocks(std::int64_t n, F f) {
#pragma omp parallel for
  for (std::int64_t first = 0; first < n; first += kBlock) f(first, std::min(kBlock, n - first));
}

}  // namespace

void CpuOps::do_add(TensorView out, TensorView a, TensorView b) {
  over_blocks(out.elements(), [&](std::int64_t first, std::int64_t count) {
    if (out.dtype == DType::f32) {
      float* o = out.as<float>() + first;
      const float* x = a.as<float>() + first;
      const float* y = b.as<float>() + first;
      for (std::int64_t i = 0; i < count; ++i) o[i] = x[i] + y[i];
      return;
    }
    auto* o = out.as<Bf16>() + first;
    const auto* x = a.as<Bf16>() + first;
    const auto* y = b.as<Bf16>() + first;
    for (std::int64_t i = 0; i < count; ++i) o[i] = cpu::from_f32<Bf16>(cpu::to_f32(x[i]) + cpu::to_f32(y[i]));
  });
}

void CpuOps::do_copy(TensorView out, TensorView in) {
  over_blocks(out.elements(), [&](std::int64_t first, std::int64_t count) {
    if (out.dtype == in.dtype) {
      const std::int64_t size = size_bytes(in.dtype);
      std::memcpy(out.as<char>() + first * size, in.as<char>() + first * size, static_cast<std::size_t>(count * size));
    } else if (in.dtype == DType::f32 && out.dtype == DType::bf16) {
      cpu::narrow(in.as<float>() + first, out.as<Bf16>() + first, count);
    } else if (in.dtype == DType::bf16 && out.dtype == DType::f32) {
      cpu::widen(in.as<Bf16>() + first, out.as<float>() + first, count);
    } else {
      throw LogicFault("copy from " + std::string(dtype_name(in.dtype)) + " to " + std::string(dtype_name(out.dtype)));
    }
  });
}

void CpuOps::do_fill(TensorView out, double value) {
  over_blocks(out.elements(), [&](std::int64_t first, std::int64_t count) {
    switch (out.dtype) {
      case DType::f32:
        std::fill_n(out.as<float>() + first, count, static_cast<float>(value));
        break;
      case DType::bf16:
        std::fill_n(out.as<Bf16>() + first, count, cpu::from_f32<Bf16>(static_cast<float>(value)));
        break;
      case DType::f64:
        std::fill_n(out.as<double>() + first, count, value);
        break;
      case DType::i32:
        std::fill_n(out.as<std::int32_t>() + first, count, static_cast<std::int32_t>(value));
        break;
    }
  });
}

void CpuOps::do_fill_normal(const NormalArgs& args) {
  const RngStream stream(args.seed, args.stream);
  float* out = args.out.as<float>();
  if (args.std == 0.0) return do_fill(args.out, args.mean);
  over_blocks(args.out.elements(), [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      out[i] =
          static_cast<float>(args.mean + args.std * stream.normal(static_cast<std::uint64_t>(args.first_index + i)));
    }
  });
}

double CpuOps::do_read_f64(TensorView scalar) {
  return *scalar.as<double>();
}

void CpuOps::do_upload(TensorView out, const void* from) {
  std::memcpy(out.data, from, static_cast<std::size_t>(out.bytes()));
}

}  // namespace perfbench::engine
