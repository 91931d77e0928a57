#include "engine/ops/cuda/attention/attention_layout.h"

namespace perfbench::engine::cuda {
namespace {

std::int64_t query_heads(const AttentionDims& whole, std::int64_t kv_heads) {
  return kv_heads * (whole.n_heads / whole.n_kv_heads);
}

HeadTensor in_rows(const AttentionDims& part, std::int64_t heads, std::int64_t stride) {
  return {{part.batch, heads, part.seq_len, part.head_dim}, {part.seq_len * stride, part.head_dim, stride, 1}};
}

AttentionDims dims_of(const AttentionDims& whole, const AttentionPart& part) {
  return {.batch = part.sequences,
          .seq_len = whole.seq_len,
          .n_heads = query_heads(whole, part.kv_heads),
          .n_kv_heads = part.kv_heads,
          .head_dim = whole.head_dim,
          .score_factor = whole.score_factor};
}

// Where a part begins in the whole tensors.
class FirstElements {
 public:
  FirstElements(const AttentionDims& d, const AttentionPart& part)
      : token_(part.first_sequence * d.seq_len),
        kv_column_(part.first_kv_head * d.head_dim),
        query_column_(query_heads(d, part.first_kv_head) * d.head_dim),
        logsumexp_((part.first_sequence * d.n_heads + query_heads(d, part.first_kv_head)) * d.seq_len) {}
  void* query(const RowsView& x) const { return at(x, token_ * x.stride + query_column_); }
  void* key(const RowsView& x) const { return at(x, token_ * x.stride + kv_column_); }
  void* logsumexp(const TensorView& x) const { return at(x, logsumexp_); }

 private:
  static void* at(const RowsView& x, std::int64_t element) { return x.as<char>() + element * size_bytes(x.dtype); }

  std::int64_t token_;
  std::int64_t kv_column_;
  std::int64_t query_column_;
  std::int64_t logsumexp_;
};

}  // namespace

AttentionLayout layout_of(const AttentionForwardArgs& args, const AttentionPart& part) {
  return {dims_of(args.dims, part),
          {.query = args.query.stride,
           .key = args.key.stride,
           .value = args.value.stride,
           .context = RowsView(args.context).stride}};
}

AttentionLayout layout_of(const AttentionBackwardArgs& args, const AttentionPart& part) {
  return {dims_of(args.dims, part),
          {.query = args.query.stride,
           .key = args.key.stride,
           .value = args.value.stride,
           .context = RowsView(args.context).stride,
           .dquery = args.dquery.stride,
           .dkey = args.dkey.stride,
           .dvalue = args.dvalue.stride}};
}

HeadTensor queries_of(const AttentionLayout& layout, std::int64_t stride) {
  return in_rows(layout.dims, layout.dims.n_heads, stride);
}

HeadTensor keys_of(const AttentionLayout& layout, std::int64_t stride) {
  return in_rows(layout.dims, layout.dims.n_kv_heads, stride);
}

HeadTensor statistics_of(const AttentionLayout& layout) {
  const AttentionDims& d = layout.dims;
  return {{d.batch, d.n_heads, d.seq_len, 1}, {d.n_heads * d.seq_len, d.seq_len, 1, 1}};
}

AttentionAddresses addresses_of(const AttentionForwardArgs& args, const AttentionPart& part) {
  const FirstElements first(args.dims, part);
  return {.query = first.query(args.query),
          .key = first.key(args.key),
          .value = first.key(args.value),
          .context = first.query(args.context),
          .logsumexp = first.logsumexp(args.logsumexp_BHT)};
}

AttentionAddresses addresses_of(const AttentionBackwardArgs& args, const AttentionPart& part) {
  const FirstElements first(args.dims, part);
  return {.query = first.query(args.query),
          .key = first.key(args.key),
          .value = first.key(args.value),
          .context = first.query(args.context),
          .logsumexp = first.logsumexp(args.logsumexp_BHT),
          .dcontext = first.query(args.dcontext),
          .dquery = first.query(args.dquery),
          .dkey = first.key(args.dkey),
          .dvalue = first.key(args.dvalue)};
}

}  // namespace perfbench::engine::cuda
