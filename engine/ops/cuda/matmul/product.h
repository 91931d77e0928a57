// One matrix product, or a batch of equal ones, as requested by parts of the cuda backend, and the key that identifies
// such a problem. Plain C++, so the choice of algorithms is tested without a GPU.
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

// Where sums of 8-bit products are accumulated (spec::Fp8Accumulation).
enum class Accumulation { full, fast };

// Follows the run's choice. Only gradients are e5m2 (engine/layers/fp8_scales.h), so products without an e5m2 operand
// belong to the forward pass.
Accumulation accumulation_of(spec::Fp8Accumulation choice, DType a, DType b);

// c[m, n] = factor * op(a)[m, k] op(b)[k, n] (+ c if write is accumulate) (+ bias[n] on every row), `batch` times. a
// and b share a type; c has that type or f32; the bias has the type of c. Accumulation is in f32. Or a and b are both
// 8-bit types, with their inverse scales on the device, and rows along k: transpose_a is no, transpose_b yes; c is bf16
// or f32.
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
  void* preactivation = nullptr;           // for the epilogue; type and stride of c
  const float* inverse_scale_a = nullptr;  // for 8-bit operands
  const float* inverse_scale_b = nullptr;
  Accumulation accumulation = Accumulation::full;
};

// Whether the product's epilogue may be requested from cuBLASLt. The result must be bf16, whose rounding is no finer
// than the tanh that a library may use (its documentation states no error; the instruction's is 2^-11). It must not be
// a batch or have 8-bit operands. The pre-activation must have rows of a multiple of 8 elements
// (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) at a multiple of 16 bytes.
bool epilogue_fits(const Product& product);

// How products of f32 operands are computed: exactly, or with operands rounded to tf32's 10 bits of mantissa.
// Irrelevant for bf16 operands.
enum class F32Products { exact, tf32 };

// The same product in the terms of a library that stores matrices by columns: a row-major matrix is its own transpose
// there, and c^T = op(b)^T op(a)^T. So the operands change places, and nothing else changes.
Product by_columns(const Product& product);

// Everything that affects an algorithm's speed, or whether it can be used at all.
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

// The alignment that the widest loads and stores of a kernel need, a vector of 16 bytes, as do the descriptors of the
// tensor memory accelerator (CUDA driver API, cuTensorMapEncodeTiled). A higher alignment does not make another
// problem: the place of a tensor in the arena, which a remat policy decides too, must not decide an algorithm and its
// bits.
inline constexpr std::int64_t kMostAlignmentBytes = 16;

ProductKey key_of(const Product& product, F32Products f32_products, std::int64_t workspace_bytes);

// "m=512 n=4096 k=4096 a=bf16/4096 b=bf16/4096^T c=f32/4096 + bias, workspace 33554432": unique for a key.
std::string to_text(const ProductKey& key);

}  // namespace perfbench::engine::cuda
