#include "engine/ops/cuda/matmul/product.h"

#include <algorithm>
#include <utility>

#include "engine/core/float8.h"

namespace perfbench::engine::cuda {
namespace {

std::int64_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? kMostAlignmentBytes : std::min(kMostAlignmentBytes, static_cast<std::int64_t>(bits & (~bits + 1)));
}

// Fields that do not matter stay 0, so that problems that differ only in these are the same.
ProductKey::Operand operand_key(const Matrix& matrix, std::int64_t batch) {
  return {.dtype = matrix.dtype,
          .row_stride = matrix.row_stride,
          .batch_stride = batch == 1 ? 0 : matrix.batch_stride,
          .alignment_bytes = alignment_of(matrix.data)};
}

std::string operand_text(const ProductKey::Operand& operand, Transpose transpose) {
  std::string text = std::string(dtype_name(operand.dtype)) + "/" + std::to_string(operand.row_stride);
  if (transpose == Transpose::yes) text += "^T";
  if (operand.batch_stride != 0) text += "+" + std::to_string(operand.batch_stride);
  if (operand.alignment_bytes != kMostAlignmentBytes) text += "@" + std::to_string(operand.alignment_bytes);
  return text;
}

}  // namespace

Product by_columns(const Product& product) {
  Product out = product;
  std::swap(out.m, out.n);
  std::swap(out.a, out.b);
  std::swap(out.transpose_a, out.transpose_b);
  std::swap(out.inverse_scale_a, out.inverse_scale_b);
  return out;
}

Accumulation accumulation_of(spec::Fp8Accumulation choice, DType a, DType b) {
  if (!is_float8(a) || choice == spec::Fp8Accumulation::full) return Accumulation::full;
  const bool has_gradient = a == DType::e5m2 || b == DType::e5m2;
  return choice == spec::Fp8Accumulation::fast || !has_gradient ? Accumulation::fast : Accumulation::full;
}

bool epilogue_fits(const Product& product) {
  constexpr std::int64_t kElements = 8;
  return !is_float8(product.a.dtype) && product.c.dtype == DType::bf16 && product.batch == 1 &&
         product.c.row_stride % kElements == 0 && alignment_of(product.preactivation) == kMostAlignmentBytes;
}

ProductKey key_of(const Product& product, F32Products f32_products, std::int64_t workspace_bytes) {
  return {.m = product.m,
          .n = product.n,
          .k = product.k,
          .batch = product.batch,
          .a = operand_key(product.a, product.batch),
          .b = operand_key(product.b, product.batch),
          .c = operand_key(product.c, product.batch),
          .transpose_a = product.transpose_a,
          .transpose_b = product.transpose_b,
          .write = product.write,
          .f32_products = product.a.dtype == DType::f32 ? f32_products : F32Products::exact,
          .bias_alignment_bytes = product.bias_n == nullptr ? 0 : alignment_of(product.bias_n),
          .epilogue = product.epilogue,
          .preactivation_alignment_bytes = product.epilogue == Epilogue::none ? 0 : alignment_of(product.preactivation),
          .workspace_bytes = workspace_bytes,
          .accumulation = product.accumulation};
}

std::string to_text(const ProductKey& key) {
  std::string text = "m=" + std::to_string(key.m) + " n=" + std::to_string(key.n) + " k=" + std::to_string(key.k) +
                     " a=" + operand_text(key.a, key.transpose_a) + " b=" + operand_text(key.b, key.transpose_b) +
                     " c=" + operand_text(key.c, Transpose::no);
  if (key.batch != 1) text += " times " + std::to_string(key.batch);
  if (key.write == Write::accumulate) text += " added";
  if (key.bias_alignment_bytes != 0) text += " + bias@" + std::to_string(key.bias_alignment_bytes);
  if (key.epilogue != Epilogue::none) {
    text += key.epilogue == Epilogue::gelu_tanh ? " gelu@" : " gelu'@";
    text += std::to_string(key.preactivation_alignment_bytes);
  }
  if (key.f32_products == F32Products::tf32) text += " in tf32";
  if (key.accumulation == Accumulation::fast) text += ", fast accumulation";
  return text + ", workspace " + std::to_string(key.workspace_bytes);
}

}  // namespace perfbench::engine::cuda
