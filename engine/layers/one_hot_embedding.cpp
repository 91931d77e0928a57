#include "engine/layers/one_hot_embedding.h"

#include <algorithm>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// Calls product(one_hot_CV, first, rows) for every chunk of the tokens.
template <class Product>
void for_each_chunk(const LayerShared& shared, TensorView tokens_N, std::int64_t vocabulary, const Product& product) {
  const Context& context = shared.context;
  const std::int64_t n = tokens_N.elements();
  const std::int64_t chunk = std::min(shared.run.loss_chunk_tokens, n);
  const Tensor one_hot = context.activation("embedding.one_hot", Shape{chunk, vocabulary});
  for (std::int64_t first = 0; first < n; first += chunk) {
    const std::int64_t rows = std::min(chunk, n - first);
    const TensorView one_hot_CV = one_hot.view().slice(0, Shape{rows, vocabulary});
    context.ops.one_hot(
        {.rows_NV = one_hot_CV, .tokens_N = tokens_N.slice(first, Shape{rows}), .range = shared.tokens});
    product(one_hot_CV, first, rows);
  }
}

TensorView without_rows(TensorView table_VM) {
  return table_VM.slice(0, Shape{0, table_VM.shape[1]});
}

}  // namespace

void one_hot_embedding_forward(const LayerShared& shared, const EmbeddingForwardArgs& args) {
  auto& ops = shared.context.ops;
  const std::int64_t m = args.x_NM.shape[1];
  const bool positions = args.position_TM.defined();
  if (positions) {  // looks up positions only; the products are added to them
    auto alone = args;
    alone.table_VM = without_rows(args.table_VM);
    ops.embedding_forward(alone);
  }
  for_each_chunk(shared, args.tokens_N, args.table_VM.shape[0],
                 [&](TensorView one_hot_CV, std::int64_t first, std::int64_t rows) {
                   ops.matmul({.a = one_hot_CV,
                               .b = args.table_VM,
                               .c = args.x_NM.slice(first * m, Shape{rows, m}),
                               .write = positions ? Write::accumulate : Write::overwrite,
                               .part = FlopPart::embedding});
                 });
}

void one_hot_embedding_backward(const LayerShared& shared, const EmbeddingBackwardArgs& args) {
  auto& ops = shared.context.ops;
  const std::int64_t m = args.dx_NM.shape[1];
  if (args.dposition_TM.defined()) {
    auto alone = args;
    alone.dtable_VM = without_rows(args.dtable_VM);
    ops.embedding_backward(alone);
  }
  for_each_chunk(shared, args.tokens_N, args.dtable_VM.shape[0],
                 [&](TensorView one_hot_CV, std::int64_t first, std::int64_t rows) {
                   ops.matmul({.a = one_hot_CV,
                               .b = args.dx_NM.slice(first * m, Shape{rows, m}),
                               .c = args.dtable_VM,
                               .transpose_a = Transpose::yes,
                               .write = Write::accumulate,
                               .part = FlopPart::embedding});
                 });
}

}  // namespace perfbench::engine
