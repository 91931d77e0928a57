// One matrix product, or a batch of equal ones, as the parts of the cuda backend ask for it; and what tells one such
// problem from another. Plain C++: the choice of algorithms is tested without a GPU.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "engine/ops/ops.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::engine::cuda {

// Row-major; strides in elements. Matrix i of a batch starts at data + i * batch_stride.
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;
  std::int64_t batch_stride = 0;
};

// Where sums of 8-bit products stand while they grow (spec::Fp8Accumulation).
enum class Accumulation { full, fast };

// By the run's choice. Only gradients are e5m2 (engine/layers/fp8_scales.h), so products without one are the forward
// pass's.
Accumulation accumulation_of(spec::Fp8Accumulation choice, DType a, DType b);

// c[m, n] = factor * op(a)[m, k] op(b)[k, n] (+ c when write is accumulate) (+ bias[n] on every row), `batch` times.
// a and b share a type; c has it or f32; the bias has that of c. Accumulation in f32. Or a and b have 8 bits each, with
// their inverse scales on the device, and rows along k: transpose_a is no, transpose_b yes; c is bf16 or f32.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Matrix a;
  Matrix b;
  Matrix c;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  Additions additions = Additions::none;
  float factor = 1.0F;
  const void* bias_n = nullptr;  // optional
  Epilogue epilogue = Epilogue::none;
  void* preactivation = nullptr;           // of the epilogue; type and stride of c
  const float* inverse_scale_a = nullptr;  // of operands in 8 bits
  const float* inverse_scale_b = nullptr;
  Accumulation accumulation = Accumulation::full;
};

// Whether cuBLASLt may be asked for the product's epilogue: results in bf16, not of 8-bit operands, whose rounding is
// no finer than what a library may take for a tanh (its documentation states no error; the instruction's is 2^-11), not
// a batch, and a pre-activation of rows of a multiple of 8 elements (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) at a
// multiple of 16 bytes.
bool epilogue_fits(const Product& product);

// How products of f32 operands are computed: as they are, or rounded to tf32's 10 bits of mantissa. Of no consequence
// for bf16 operands.
enum class F32Products { exact, tf32 };

// The same product as a library sees it that stores matrices by columns: a row-major matrix is its own transpose there,
// and c^T = op(b)^T op(a)^T, so that the operands change places and nothing else happens.
Product by_columns(const Product& product);

// Everything that an algorithm's speed depends on, or whether it can be used at all.
struct ProductKey {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 0;
  struct Operand {
    DType dtype = DType::f32;
    std::int64_t row_stride = 0;
    std::int64_t batch_stride = 0;
    std::int64_t alignment_bytes = 0;                  // of the address: a power of two up to kMostAlignmentBytes
    auto operator<=>(const Operand&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
  };
  Operand a;
  Operand b;
  Operand c;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  F32Products f32_products = F32Products::exact;
  std::int64_t bias_alignment_bytes = 0;  // 0: no bias
  Epilogue epilogue = Epilogue::none;
  std::int64_t preactivation_alignment_bytes = 0;  // 0: no epilogue
  std::int64_t workspace_bytes = 0;
  Accumulation accumulation = Accumulation::full;
  auto operator<=>(const ProductKey&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// What the widest loads and stores of a kernel need, a vector of 16 bytes, as do the descriptors of the tensor memory
// accelerator (CUDA driver API, cuTensorMapEncodeTiled). Places that are more aligned than that are no other problem:
// where a tensor lies in the arena, which a remat policy decides too, must not decide an algorithm and its bits.
inline constexpr std::int64_t kMostAlignmentBytes = 16;

ProductKey key_of(const Product& product, F32Products f32_products, std::int64_t workspace_bytes);

// "m=512 n=4096 k=4096 a=bf16/4096 b=bf16/4096^T c=f32/4096 + bias, workspace 33554432": unique for a key.
std::string to_text(const ProductKey& key);

}  // namespace perfbench::engine::cuda
