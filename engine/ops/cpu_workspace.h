// Memory that operations of the cpu backend use beside their operands, where its size depends only on the run. One
// buffer serves all of them, because they run one after another; it is a tensor of the run (trainer.cpp), so a dry walk
// counts it too. The plan and the kernels use the same structs, laid out without a buffer or in it.
//
// Two things are not planned: the memory that each thread has for itself (cpu/scratch.h), and that which oneDNN or
// OpenBLAS allocate for their own packing. Both depend on the number of threads, which the machine and the launcher
// decide. resident_bytes of a result includes all of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/ops/carver.h"
#include "workloads/spec/divide_up.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine::workspace::cpu {

// Floats for an operand that kernels read as f32: none if it is f32 already.
constexpr std::int64_t converted_floats(DType dtype, std::int64_t elements) {
  return dtype == DType::f32 ? 0 : elements;
}

// c[m, n] = op(a)[m, k] op(b)[k, n].
struct ProductDims {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// Products of bf16 operands convert panels of a and b to f32: at most 1024 outer indices, and 8 MiB if k leaves room
// for 64 of them.
inline constexpr std::int64_t kMostOuter = 1024;
inline constexpr std::int64_t kFewestOuter = 64;
inline constexpr std::int64_t kPanelFloats = std::int64_t{2} << 20;
constexpr std::int64_t panel_outer(std::int64_t k, std::int64_t outer) {
  const std::int64_t fitting = kPanelFloats / std::max<std::int64_t>(k, 1) / kFewestOuter * kFewestOuter;
  return std::min(outer, std::clamp(fitting, kFewestOuter, kMostOuter));
}
// At least panel_outer * k, and (unlike that) never less for a longer k. So if the slices of ranks differ by one, the
// longest one gives a size that suffices for all.
constexpr std::int64_t panel_floats(std::int64_t k, std::int64_t outer) {
  return std::min(std::min(outer, kMostOuter) * k, std::max(kPanelFloats, kFewestOuter * k));
}

struct MatmulParts {
  // bias: its type, f32 without a bias.
  MatmulParts(Carver& carver, const ProductDims& p, DType operands, DType bias)
      : bias_n(carver.take(converted_floats(bias, p.n))),
        a(carver.take(converted_floats(operands, panel_floats(p.k, p.m)))),
        b(carver.take(converted_floats(operands, panel_floats(p.k, p.n)))),
        c(carver.take(converted_floats(operands, std::min(p.m, kMostOuter) * std::min(p.n, kMostOuter)))) {}
  float* bias_n;
  float* a;
  float* b;
  float* c;
};

// parameters: the type of a norm's weight and bias.
struct NormForwardParts {
  NormForwardParts(Carver& carver, std::int64_t width, DType parameters)
      : weight_M(carver.take(converted_floats(parameters, width))),
        bias_M(carver.take(converted_floats(parameters, width))) {}
  float* weight_M;
  float* bias_M;
};

// Gradients of weight and bias are summed over blocks of rows first.
inline constexpr std::int64_t kNormBlockRows = 32;
constexpr std::int64_t norm_blocks(std::int64_t rows) {
  return spec::divide_up(rows, kNormBlockRows);
}
struct NormBackwardParts {
  NormBackwardParts(Carver& carver, std::int64_t rows, std::int64_t width, DType parameters)
      : weight_M(carver.take(converted_floats(parameters, width))),
        partial(carver.take(norm_blocks(rows) * 2 * Carver::rounded(width))) {}
  float* weight_M;
  float* partial;  // for each block the weight's, then the bias's, [Carver::rounded(width)] each
};

// For each sequence, how often its tokens chose each expert.
struct RouteParts {
  RouteParts(Carver& carver, std::int64_t sequences, std::int64_t experts)
      : shares_BE(carver.take(sequences * experts)) {}
  float* shares_BE;
};

template <class Parts, class... Dims>
std::int64_t floats_of(const Dims&... dims) {
  Carver carver;
  const Parts unplaced(carver, dims...);
  return carver.used();
}

// The most that any operation of the run needs, on any rank.
std::int64_t bytes(const spec::RunSpec& run);

}  // namespace perfbench::engine::workspace::cpu
