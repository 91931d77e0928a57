#include "engine/core/error.h"
#include "engine/core/float8.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/matmul/matmul_provider.h"
#include "engine/ops/cuda/matmul/vector_parts.h"
#include "engine/ops/cuda/operations/transpose_codes.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

Matrix matrix(const RowsView& view) {
  return {.data = view.data, .dtype = view.dtype, .row_stride = view.stride};
}

void run(MatmulProvider& provider, const Product& product, const ProductScratch& scratch) {
  const auto parts = vector_parts(product);
  if (!parts) return provider.run(product, scratch);
  run(provider, parts->whole, scratch);
  provider.run(parts->rest, scratch);
}

}  // namespace

void CudaOps::do_matmul(const MatmulArgs& args) {
  const ProductScratch scratch{workspace(workspace::kMatmulBytes, "matmul"), workspace::kMatmulBytes};
  if (is_float8(args.a.dtype)) return multiply(rows_along_k(args), scratch);
  multiply(args, scratch);
}

// cuBLASLt multiplies 8-bit operands only if each row runs along k; Ada and Hopper do not support the others (cuBLAS
// documentation, cublasLtMatmul, "the following constraints apply to FP8"). Those are transposed into the workspace
// behind the library's part.
MatmulArgs CudaOps::rows_along_k(const MatmulArgs& args) {
  MatmulArgs along = args;
  const std::int64_t bytes_a = args.transpose_a == Transpose::yes ? workspace::transpose_bytes(args.a.elements()) : 0;
  const std::int64_t bytes_b = args.transpose_b == Transpose::no ? workspace::transpose_bytes(args.b.elements()) : 0;
  if (bytes_a + bytes_b == 0) return along;
  auto* const behind =
      static_cast<std::uint8_t*>(workspace(workspace::kMatmulBytes + bytes_a + bytes_b, "matmul of 8-bit operands")) +
      workspace::kMatmulBytes;
  const auto transposed = [&](const RowsView& of, std::uint8_t* to) {
    transpose_codes(to, of, stream());
    return TensorView{to, of.dtype, Shape{of.shape[1], of.shape[0]}};
  };
  if (bytes_a > 0) along.a = transposed(args.a, behind);
  if (bytes_b > 0) along.b = transposed(args.b, behind + bytes_a);
  along.transpose_a = Transpose::no;
  along.transpose_b = Transpose::yes;
  return along;
}

void CudaOps::multiply(const MatmulArgs& args, const ProductScratch& scratch) {
  const TensorView& bias = args.bias_n;
  // The library adds a bias that has the result's type; any other bias is added to the f32 result.
  const bool within = bias.defined() && bias.dtype == args.c.dtype;
  if (bias.defined() && !within && args.c.dtype != DType::f32) {
    throw LogicFault("matmul: a " + std::string(dtype_name(args.c.dtype)) +
                     " result takes a bias of its own type, found " + std::string(dtype_name(bias.dtype)));
  }
  Product product{.m = args.c.shape[0],
                  .n = args.c.shape[1],
                  .k = args.a.shape[args.transpose_a == Transpose::yes ? 0 : 1],
                  .a = matrix(args.a),
                  .b = matrix(args.b),
                  .c = matrix(args.c),
                  .transpose_a = args.transpose_a,
                  .transpose_b = args.transpose_b,
                  .write = args.write,
                  .additions = args.additions,
                  .factor = args.factor,
                  .bias_n = within ? bias.data : nullptr,
                  .epilogue = args.epilogue,
                  .preactivation = args.preactivation.data,
                  .inverse_scale_a = args.inverse_scale_a.as<const float>(),
                  .inverse_scale_b = args.inverse_scale_b.as<const float>(),
                  .accumulation = accumulation_of(fp8_accumulation_, args.a.dtype, args.b.dtype)};
  const bool fused =
      args.epilogue == Epilogue::none || (epilogue_fits(product) && matmul_->has_epilogue(product, scratch));
  const bool before_gelu = !fused && args.epilogue == Epilogue::gelu_tanh;
  const RowsView written = before_gelu ? args.preactivation : args.c;
  if (!fused) {
    product.epilogue = Epilogue::none;
    product.c = matrix(written);
  }
  run(*matmul_, product, scratch);
  if (bias.defined() && !within) add_bias(written, bias);
  if (fused) return;
  if (before_gelu) {
    do_activation_forward(
        {.product_NF = args.c.dense(), .up_NF = args.preactivation, .kind = spec::Activation::gelu_tanh});
  } else {
    multiply_by_gelu_slope(args.c.dense(), args.preactivation);
  }
}

}  // namespace perfbench::engine::cuda
