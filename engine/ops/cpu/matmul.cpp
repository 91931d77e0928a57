// Matrix products. f32 products come from the provider; for bf16 and 8 bits, panels of the operands are converted into
// f32, with one f32 product per panel and one rounding of the result.
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/matmul_provider.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/vector.h"

namespace perfbench::engine::cpu {
namespace {

SgemmArgs product_shape(const MatmulArgs& args) {
  SgemmArgs product;
  product.transpose_a = args.transpose_a;
  product.transpose_b = args.transpose_b;
  product.m = args.c.shape[0];
  product.n = args.c.shape[1];
  product.k = args.a.shape[args.transpose_a == Transpose::yes ? 0 : 1];
  product.write = args.write;
  product.factor = args.factor;
  return product;
}

void to_floats(float* out, const Bf16* in, std::int64_t n) {
  for_vectors(
      n, [&](std::int64_t i) { store(out + i, load(in + i)); },
      [&](std::int64_t i, std::int64_t part) { store_part(out + i, load_part(in + i, part), part); });
}
// Converts codes without their scale, which is in the product's factor.
template <DType kType>
void to_floats(float* out, const Float8<kType>* in, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = to_f32(in[i]);
}

void add_bias(const RowsView& c, const float* bias) {
  const std::int64_t columns = c.shape[1];
  for_ranges(
      c.shape[0],
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          float* const row = row_of<float>(c, r);
          for_vectors(
              columns, [&](std::int64_t i) { store(row + i, load(row + i) + load(bias + i)); },
              [&](std::int64_t i, std::int64_t n) {
                store_part(row + i, load_part(row + i, n) + load_part(bias + i, n), n);
              });
        }
      },
      columns);
}

// The rows [first, first + count), or the columns of a transposed operand, converted to f32 in the operand's own
// orientation.
template <class T>
struct Panel {
  const T* from;
  std::int64_t rows;     // of the stored matrix
  std::int64_t columns;  // of the stored matrix
  std::int64_t stride;   // between its rows
  Transpose transpose;   // yes: the product's outer index runs along the stored columns
  std::int64_t first;
  std::int64_t count;
};

// The stride of the panel in `to`.
template <class T>
std::int64_t convert_panel(const Panel<T>& p, float* to) {
  const bool along_columns = p.transpose == Transpose::yes;
  const std::int64_t rows = along_columns ? p.rows : p.count;
  const std::int64_t width = along_columns ? p.count : p.columns;
  const T* const from = p.from + (along_columns ? p.first : p.first * p.stride);
  for_ranges(
      rows,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) to_floats(to + r * width, from + r * p.stride, width);
      },
      width);
  return width;
}

struct Bf16Result {
  Bf16* c;  // the panel's first element
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t columns;
  const float* bias;  // for the panel's columns, or nullptr
  Write write;
};

void round_panel(const float* sum, const Bf16Result& result) {
  for_ranges(
      result.rows,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          Bf16* const c = result.c + r * result.stride;
          const auto finish = [&](Vec v, Vec old, Vec bias) {
            if (result.write == Write::accumulate) v += old;
            return result.bias == nullptr ? v : v + bias;
          };
          const float* const row = sum + r * result.columns;
          for_vectors(
              result.columns,
              [&](std::int64_t i) {
                store(c + i,
                      finish(load(row + i), load(c + i), result.bias == nullptr ? Vec{} : load(result.bias + i)));
              },
              [&](std::int64_t i, std::int64_t n) {
                const Vec bias = result.bias == nullptr ? Vec{} : load_part(result.bias + i, n);
                store_part(c + i, finish(load_part(row + i, n), load_part(c + i, n), bias), n);
              });
        }
      },
      result.columns);
}

// c is bf16 or f32.
template <class A, class B>
void matmul_in_panels(const MatmulArgs& args, const float* bias, const workspace::cpu::MatmulParts& panels) {
  SgemmArgs product = product_shape(args);
  const std::int64_t panel_m = workspace::cpu::panel_outer(product.k, product.m);
  const std::int64_t panel_n = workspace::cpu::panel_outer(product.k, product.n);
  const std::int64_t m_all = product.m;
  const std::int64_t n_all = product.n;
  const auto other = [](Transpose t) { return t == Transpose::yes ? Transpose::no : Transpose::yes; };
  const auto panel = []<class T>(const T* from, const RowsView& of, Transpose transpose, std::int64_t first,
                                 std::int64_t count) {
    return Panel<T>{from, of.shape[0], of.shape[1], of.stride, transpose, first, count};
  };
  for (std::int64_t j = 0; j < n_all; j += panel_n) {
    product.n = std::min(panel_n, n_all - j);
    product.b = panels.b;
    product.b_stride =
        convert_panel(panel(args.b.as<const B>(), args.b, other(args.transpose_b), j, product.n), panels.b);
    for (std::int64_t i = 0; i < m_all; i += panel_m) {
      product.m = std::min(panel_m, m_all - i);
      product.a = panels.a;
      product.a_stride = convert_panel(panel(args.a.as<const A>(), args.a, args.transpose_a, i, product.m), panels.a);
      if (args.c.dtype == DType::f32) {
        product.c = row_of<float>(args.c, i) + j;
        product.c_stride = args.c.stride;
        matmul_provider().sgemm(product);
        continue;
      }
      product.c = panels.c;
      product.c_stride = product.n;
      product.write = Write::overwrite;
      matmul_provider().sgemm(product);
      round_panel(panels.c, {row_of<Bf16>(args.c, i) + j, args.c.stride, product.m, product.n,
                             bias == nullptr ? nullptr : bias + j, args.write});
    }
  }
}

void matmul_float8(MatmulArgs args, const float* bias, const workspace::cpu::MatmulParts& panels) {
  args.factor *= *args.inverse_scale_a.as<const float>() * *args.inverse_scale_b.as<const float>();
  with_float8_type(args.a.dtype, [&]<class A>() {
    with_float8_type(args.b.dtype, [&]<class B>() { matmul_in_panels<A, B>(args, bias, panels); });
  });
}

void matmul_f32(const MatmulArgs& args) {
  SgemmArgs product = product_shape(args);
  product.a = args.a.as<const float>();
  product.a_stride = args.a.stride;
  product.b = args.b.as<const float>();
  product.b_stride = args.b.shape[1];
  product.c = args.c.as<float>();
  product.c_stride = args.c.stride;
  matmul_provider().sgemm(product);
}

}  // namespace

void CpuOps::multiply(const MatmulArgs& args) {
  const SgemmArgs shape = product_shape(args);
  const auto parts = place<workspace::cpu::MatmulParts>(
      "matmul", workspace::cpu::ProductDims{shape.m, shape.n, shape.k}, args.a.dtype, args.bias_n.dtype);
  const float* const bias = as_floats(args.bias_n, parts.bias_n);
  if (args.a.dtype == DType::f32) {
    matmul_f32(args);
  } else if (is_float8(args.a.dtype)) {
    matmul_float8(args, bias, parts);
  } else {
    matmul_in_panels<Bf16, Bf16>(args, bias, parts);
  }
  // A bf16 result already includes its bias, added before its only rounding.
  if (bias != nullptr && args.c.dtype == DType::f32) {
    add_bias(args.c, bias);
  }
}

void CpuOps::do_matmul(const MatmulArgs& args) {
  switch (args.epilogue) {
    case Epilogue::none:
      return multiply(args);
    case Epilogue::gelu_tanh: {
      MatmulArgs product = args;
      product.c = args.preactivation;
      multiply(product);
      return do_activation_forward(
          {.product_NF = args.c.dense(), .up_NF = args.preactivation, .kind = spec::Activation::gelu_tanh});
    }
    case Epilogue::gelu_tanh_gradient:
      multiply(args);
      return multiply_by_gelu_slope(args.c.dense(), args.preactivation);
  }
}

}  // namespace perfbench::engine::cpu
