// Products of experts with equal segments: for each part one batch over the experts, computed by the library.
#include <algorithm>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/experts/grouped_product.h"
#include "engine/ops/cuda/matmul/matmul_provider.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

// Batches of matrices [rows, columns], one behind the other.
Matrix matrices(const TensorView& x, std::int64_t first_row, std::int64_t rows, std::int64_t columns) {
  return {.data = x.slice(first_row * columns, Shape{rows, columns}).data,
          .dtype = x.dtype,
          .row_stride = columns,
          .batch_stride = rows * columns};
}

}  // namespace

void CudaOps::do_expert_product(const ExpertProductArgs& args) {
  using Kind = ExpertProductArgs::Kind;
  if (args.slots == 0) {
    grouped_product(args, stream());
    return;
  }
  const ProductScratch scratch{workspace(workspace::kMatmulBytes, "expert_product"), workspace::kMatmulBytes};
  const bool gradient = args.kind == Kind::weight_gradient;
  const Shape& weight = (gradient ? args.c : args.b).shape;
  const std::int64_t experts = weight[0];
  const std::int64_t outputs = weight[1];
  const std::int64_t inputs = weight[2];
  // If there is only one expert, all its rows follow each other.
  const std::int64_t parts = experts == 1 ? 1 : args.segments_PX2.shape[0];
  const std::int64_t rows = experts == 1 ? args.segments_PX2.shape[0] * args.slots : args.slots;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = part * experts * rows;
    Product product{.batch = experts, .write = args.write};
    if (gradient) {
      product.m = outputs;
      product.n = inputs;
      product.k = rows;
      product.a = matrices(args.a, first, rows, outputs);
      product.b = matrices(args.b, first, rows, inputs);
      product.c = matrices(args.c, 0, outputs, inputs);
      product.transpose_a = Transpose::yes;
      product.additions = parts > 1 && args.write == Write::overwrite ? Additions::follow : args.additions;
      if (part > 0) {
        product.write = Write::accumulate;
        product.additions = Additions::none;
      }
    } else {
      const bool forward = args.kind == Kind::forward;
      product.m = rows;
      product.n = forward ? outputs : inputs;
      product.k = forward ? inputs : outputs;
      product.a = matrices(args.a, first, rows, product.k);
      product.b = matrices(args.b, 0, outputs, inputs);
      product.c = matrices(args.c, first, rows, product.n);
      product.transpose_b = forward ? Transpose::yes : Transpose::no;
    }
    matmul_->run(product, scratch);
  }
}

}  // namespace perfbench::engine::cuda
