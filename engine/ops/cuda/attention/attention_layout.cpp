#include "engine/ops/cuda/attention/attention_layout.h"

namespace perfbench::engine::cuda {
namespace {

std::int64_t query_heads(const AttentionDims& whole, std::int64_t kv_heads) {
  return kv_heads * (whole.n_heads / whole.n_kv_heads);
}

HeadTensor in_rows(const AttentionDims& part, std::int64_t heads, std::int64_t heads_of_row) {
  const std::int64_t row = heads_of_row * part.head_dim;
  return {{part.batch, heads, part.seq_len, part.head_dim}, {part.seq_len * row, part.head_dim, row, 1}};
}

// Where a part begins in tensors of the whole.
struct FirstElements {
  FirstElements(const AttentionDims& d, const AttentionPart& part)
      : query((part.first_sequence * d.seq_len * d.n_heads + query_heads(d, part.first_kv_head)) * d.head_dim),
        key((part.first_sequence * d.seq_len * d.n_kv_heads + part.first_kv_head) * d.head_dim),
        logsumexp((part.first_sequence * d.n_heads + query_heads(d, part.first_kv_head)) * d.seq_len) {}
  std::int64_t query;
  std::int64_t key;
  std::int64_t logsumexp;
};

void* at(const TensorView& x, std::int64_t element) {
  return x.as<char>() + element * size_bytes(x.dtype);
}

}  // namespace

AttentionLayout layout_of(const AttentionDims& whole, const AttentionPart& part) {
  return {.dims = {.batch = part.sequences,
                   .seq_len = whole.seq_len,
                   .n_heads = query_heads(whole, part.kv_heads),
                   .n_kv_heads = part.kv_heads,
                   .head_dim = whole.head_dim,
                   .score_factor = whole.score_factor},
          .n_heads = whole.n_heads,
          .n_kv_heads = whole.n_kv_heads};
}

HeadTensor queries_of(const AttentionLayout& layout) {
  return in_rows(layout.dims, layout.dims.n_heads, layout.n_heads);
}

HeadTensor keys_of(const AttentionLayout& layout) {
  return in_rows(layout.dims, layout.dims.n_kv_heads, layout.n_kv_heads);
}

HeadTensor statistics_of(const AttentionLayout& layout) {
  const AttentionDims& d = layout.dims;
  return {{d.batch, d.n_heads, d.seq_len, 1}, {d.n_heads * d.seq_len, d.seq_len, 1, 1}};
}

AttentionAddresses addresses_of(const AttentionForwardArgs& args, const AttentionPart& part) {
  const FirstElements first(args.dims, part);
  return {.query = at(args.query, first.query),
          .key = at(args.key, first.key),
          .value = at(args.value, first.key),
          .context = at(args.context, first.query),
          .logsumexp = at(args.logsumexp_BHT, first.logsumexp)};
}

AttentionAddresses addresses_of(const AttentionBackwardArgs& args, const AttentionPart& part) {
  const FirstElements first(args.dims, part);
  return {.query = at(args.query, first.query),
          .key = at(args.key, first.key),
          .value = at(args.value, first.key),
          .context = at(args.context, first.query),
          .logsumexp = at(args.logsumexp_BHT, first.logsumexp),
          .dcontext = at(args.dcontext, first.query),
          .dquery = at(args.dquery, first.query),
          .dkey = at(args.dkey, first.key),
          .dvalue = at(args.dvalue, first.key)};
}

}  // namespace perfbench::engine::cuda
