#include "engine/ops/cuda/matmul/vector_parts.h"

namespace perfbench::engine::cuda {
namespace {

constexpr std::int64_t kVectorElements = kMostAlignmentBytes / 2;  // of bf16

bool begins_at_vectors(const Matrix& matrix) {
  return matrix.row_stride % kVectorElements == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % kMostAlignmentBytes == 0;
}

bool may_be_divided(const Product& p, double least_flops) {
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  return p.a.dtype == DType::bf16 && p.batch == 1 && p.bias_n == nullptr && p.epilogue == Epilogue::none &&
         begins_at_vectors(p.a) && begins_at_vectors(p.b) && begins_at_vectors(p.c) && flops >= least_flops;
}

std::int64_t whole_vectors(std::int64_t extent) {
  return extent / kVectorElements * kVectorElements;
}

Matrix behind(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  Matrix out = matrix;
  out.data = static_cast<char*>(matrix.data) + (rows * matrix.row_stride + columns) * size_bytes(matrix.dtype);
  return out;
}

// Starts behind the first `count` rows, or columns, of op(x).
Matrix behind_rows(const Matrix& x, Transpose transpose, std::int64_t count) {
  return transpose == Transpose::yes ? behind(x, 0, count) : behind(x, count, 0);
}
Matrix behind_columns(const Matrix& x, Transpose transpose, std::int64_t count) {
  return transpose == Transpose::yes ? behind(x, count, 0) : behind(x, 0, count);
}

}  // namespace

std::optional<VectorParts> vector_parts(const Product& p, double least_flops) {
  if (!may_be_divided(p, least_flops)) return std::nullopt;
  const std::int64_t m = whole_vectors(p.m);
  const std::int64_t n = whole_vectors(p.n);
  const std::int64_t k = whole_vectors(p.k);
  VectorParts parts{.whole = p, .rest = p};
  if (n != p.n && n > 0) {  // along the rows of c
    parts.whole.n = n;
    parts.rest.n = p.n - n;
    parts.rest.b = behind_columns(p.b, p.transpose_b, n);
    parts.rest.c = behind(p.c, 0, n);
  } else if (m != p.m && m > 0 && p.transpose_a == Transpose::yes) {
    parts.whole.m = m;
    parts.rest.m = p.m - m;
    parts.rest.a = behind_rows(p.a, p.transpose_a, m);
    parts.rest.c = behind(p.c, m, 0);
  } else if (k != p.k && k > 0 && (p.transpose_a == Transpose::no || p.transpose_b == Transpose::yes)) {
    parts.whole.k = k;
    parts.rest.k = p.k - k;
    parts.rest.a = behind_columns(p.a, p.transpose_a, k);
    parts.rest.b = behind_rows(p.b, p.transpose_b, k);
    parts.rest.write = Write::accumulate;
    parts.rest.additions = Additions::none;
  } else {
    return std::nullopt;
  }
  return parts;
}

}  // namespace perfbench::engine::cuda
