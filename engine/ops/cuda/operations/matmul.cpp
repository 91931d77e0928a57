#include "engine/core/error.h"
#include "engine/core/float8.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/matmul/matmul_provider.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

Matrix matrix(const RowsView& view) {
  return {.data = view.data, .dtype = view.dtype, .row_stride = view.stride};
}

}  // namespace

void CudaOps::do_matmul(const MatmulArgs& args) {
  if (is_float8(args.a.dtype)) throw LogicFault("matmul: the cuda backend has no products of 8-bit operands");
  const TensorView& bias = args.bias_n;
  // The library adds a bias of the result's type; another one is added to the f32 result.
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
                  .preactivation = args.preactivation.data};
  const ProductScratch scratch{workspace(workspace::kMatmulBytes, "matmul"), workspace::kMatmulBytes};
  const bool fused =
      args.epilogue == Epilogue::none || (epilogue_fits(product) && matmul_->has_epilogue(product, scratch));
  const bool before_gelu = !fused && args.epilogue == Epilogue::gelu_tanh;
  const RowsView written = before_gelu ? args.preactivation : args.c;
  if (!fused) {
    product.epilogue = Epilogue::none;
    product.c = matrix(written);
  }
  matmul_->run(product, scratch);
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
