// Query heads that read different key/value heads form one batch of products: for the g-th head of every group, query
// heads are group * D apart and key/value heads D apart, so B * group calls cover all.
#include "engine/ops/cuda/attention/attention_dot_product.h"

#include <algorithm>

#include "engine/core/error.h"
#include "engine/ops/cuda/attention/distance_sums.h"
#include "engine/ops/cuda/attention/masked_softmax.h"

namespace perfbench::engine::cuda {
namespace {

constexpr std::int64_t kRowMultiple = 64;  // multiple of rows held at once: whole tiles of the products

// The g-th query head of every group of one sequence.
struct Strand {
  std::int64_t sequence = 0;
  std::int64_t g = 0;
};

// Heads [head, head + heads) of a strand, with rows [row, row + rows) of each.
struct Part {
  std::int64_t head = 0;
  std::int64_t heads = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
};

// A pass over the scores: products of queries and keys, from which the kept values are computed, and sums of `values`
// weighted with these. In the forward pass these are the probabilities and the context, in the backward pass the
// gradients of scores and queries.
struct ScorePass {
  RowsView queries;  // [N, H*D]
  RowsView keys;     // [N, K*D]
  float score_factor = 1.0F;
  TensorView kept;  // [B, H, T, T]
  RowsView values;  // [N, K*D]
  RowsView sums;    // [N, H*D], times sum_factor
  float sum_factor = 1.0F;
};

class Attention {
 public:
  Attention(const AttentionDims& dims, const TensorView& first_N, DType dtype, const DotProductTools& tools)
      : d_(dims),
        first_N_(first_N.as<const std::int32_t>()),
        dtype_(dtype),
        tools_(tools),
        group_(dims.n_heads / dims.n_kv_heads) {}

  template <class F>
  void for_strands(std::int64_t sequence, F&& f) const {
    for (std::int64_t g = 0; g < group_; ++g) f(Strand{sequence, g});
  }

  // Parts of a strand whose scores are computed at once: the whole strand if scores are kept in f32, because they are
  // then computed in place.
  template <class F>
  void for_parts(F&& f) const {
    const std::int64_t per_head = d_.seq_len * d_.seq_len;
    const bool in_place = dtype_ == DType::f32;
    const std::int64_t heads =
        in_place ? d_.n_kv_heads : std::clamp<std::int64_t>(tools_.score_floats / per_head, 1, d_.n_kv_heads);
    const std::int64_t fitting = tools_.score_floats / d_.seq_len;
    const std::int64_t rows = in_place || fitting >= d_.seq_len
                                  ? d_.seq_len
                                  : std::max<std::int64_t>(fitting / kRowMultiple * kRowMultiple, 1);
    for (std::int64_t head = 0; head < d_.n_kv_heads; head += heads) {
      for (std::int64_t row = 0; row < d_.seq_len; row += rows) {
        f(Part{head, std::min(heads, d_.n_kv_heads - head), row, std::min(rows, d_.seq_len - row)});
      }
    }
  }

  ScoreRows score_rows(const Strand& s, const Part& part) const {
    const auto* const first_T = first_N_ == nullptr ? nullptr : first_N_ + s.sequence * d_.seq_len;
    return {part.heads, part.rows, part.row, d_.seq_len, first_T};
  }

  // Query heads of a strand in x[N, H*D].
  Matrix queries(const RowsView& x, const Strand& s, const Part& part) const {
    return at(x, (s.sequence * d_.seq_len + part.row) * x.stride + (part.head * group_ + s.g) * d_.head_dim, x.stride,
              group_ * d_.head_dim);
  }
  // Key/value heads in x[N, K*D].
  Matrix keys(const RowsView& x, const Strand& s, const Part& part) const {
    return at(x, s.sequence * d_.seq_len * x.stride + part.head * d_.head_dim, x.stride, d_.head_dim);
  }
  // Rows of x[B, H, T, T].
  Matrix kept_scores(const TensorView& x, const Strand& s, const Part& part) const {
    const std::int64_t head = s.sequence * d_.n_heads + part.head * group_ + s.g;
    return at(x, (head * d_.seq_len + part.row) * d_.seq_len, d_.seq_len, group_ * d_.seq_len * d_.seq_len);
  }
  KeptRows kept_rows(const TensorView& x, const Strand& s, const Part& part) const {
    const Matrix m = kept_scores(x, s, part);
    return {m.data, m.dtype, m.batch_stride};
  }
  // The place where a part's scores are computed in f32.
  Matrix f32_scores(const TensorView& kept, const Strand& s, const Part& part) const {
    if (dtype_ == DType::f32) return kept_scores(kept, s, part);
    return {tools_.scratch, DType::f32, d_.seq_len, part.rows * d_.seq_len};
  }

  Part whole() const { return {0, d_.n_kv_heads, 0, d_.seq_len}; }
  // c has the batch of `part`. These products get no workspace: they are many and small, and the scratch holds scores.
  void multiply(Product product, const Part& part) const {
    product.batch = part.heads;
    tools_.matmul.run(product, {});
  }

  // keep(strand, part, f32 scores) turns scores into the values to be kept.
  template <class Keep>
  void run(const ScorePass& pass, std::int64_t sequence, const Keep& keep) const {
    for_strands(sequence, [&](const Strand& s) {
      for_parts([&](const Part& part) {
        const Matrix scores = f32_scores(pass.kept, s, part);
        multiply({.m = part.rows,
                  .n = d_.seq_len,
                  .k = d_.head_dim,
                  .a = queries(pass.queries, s, part),
                  .b = keys(pass.keys, s, part),
                  .c = scores,
                  .transpose_b = Transpose::yes,
                  .factor = pass.score_factor},
                 part);
        keep(s, part, scores);
      });
      multiply({.m = d_.seq_len,
                .n = d_.head_dim,
                .k = d_.seq_len,
                .a = kept_scores(pass.kept, s, whole()),
                .b = keys(pass.values, s, whole()),
                .c = queries(pass.sums, s, whole()),
                .factor = pass.sum_factor},
               whole());
    });
  }

  // out[T keys of the sequence, K*D] = factor * sum over the group of scores^T x.
  void key_gradient(std::int64_t sequence, const RowsView& out, const TensorView& scores, const RowsView& x,
                    float factor) const {
    // Rounded once, after the sum over the group.
    const bool apart = group_ > 1 && dtype_ != DType::f32;
    const Shape rows{d_.seq_len, d_.n_kv_heads * d_.head_dim};
    const Matrix begin = at(out, sequence * d_.seq_len * out.stride, out.stride, 0);
    const RowsView target(begin.data, out.dtype, rows, out.stride, 1);
    const TensorView in_f32{tools_.scratch, DType::f32, rows};
    const RowsView sum = apart ? in_f32 : target;
    for_strands(sequence, [&](const Strand& s) {
      multiply({.m = d_.seq_len,
                .n = d_.head_dim,
                .k = d_.seq_len,
                .a = kept_scores(scores, s, whole()),
                .b = queries(x, s, whole()),
                .c = at(sum, 0, sum.stride, d_.head_dim),
                .transpose_a = Transpose::yes,
                .write = s.g == 0 ? Write::overwrite : Write::accumulate,
                .factor = factor},
               whole());
    });
    if (apart) tools_.round(target, in_f32);
  }

 private:
  static Matrix at(const RowsView& x, std::int64_t first, std::int64_t row_stride, std::int64_t batch_stride) {
    return {static_cast<char*>(x.data) + first * size_bytes(x.dtype), x.dtype, row_stride, batch_stride};
  }

  const AttentionDims& d_;
  const std::int32_t* first_N_;  // or null
  DType dtype_;
  const DotProductTools& tools_;
  std::int64_t group_;
};

void require_weights_of(DType dtype, const TensorView& weights) {
  if (weights.dtype != dtype) throw LogicFault("dot_product attention: the probabilities have the type of the queries");
}

}  // namespace

void dot_product_forward(const AttentionForwardArgs& args, const DotProductTools& tools) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  const auto& d = args.dims;
  const Attention attention(d, args.first_N, args.query.dtype, tools);
  const std::int64_t group = d.n_heads / d.n_kv_heads;
  const ScorePass pass{.queries = args.query,
                       .keys = args.key,
                       .score_factor = d.score_factor,
                       .kept = args.weights_BHTT,
                       .values = args.value,
                       .sums = args.context};
  for (std::int64_t sequence = 0; sequence < d.batch; ++sequence) {
    attention.run(pass, sequence, [&](const Strand& s, const Part& part, const Matrix& scores) {
      const std::int64_t head = sequence * d.n_heads + part.head * group + s.g;
      SoftmaxForwardArgs softmax{.shape = attention.score_rows(s, part),
                                 .scores = static_cast<const float*>(scores.data),
                                 .scores_head_stride = scores.batch_stride,
                                 .weights = attention.kept_rows(args.weights_BHTT, s, part),
                                 .logsumexp = args.logsumexp_BHT.as<float>() + head * d.seq_len + part.row,
                                 .logsumexp_head_stride = group * d.seq_len};
      if (args.bias_HT.defined()) {
        softmax.bias = args.bias_HT.as<const float>() + (part.head * group + s.g) * d.seq_len;
        softmax.bias_head_stride = group * d.seq_len;
      }
      masked_softmax_forward(softmax, tools.stream);
    });
  }
}

void dot_product_backward(const AttentionBackwardArgs& args, const DotProductTools& tools) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  require_weights_of(args.query.dtype, args.dweights_BHTT);
  const auto& d = args.dims;
  const Attention attention(d, args.first_N, args.query.dtype, tools);
  const ScorePass pass{.queries = args.dcontext,
                       .keys = args.value,
                       .kept = args.dweights_BHTT,
                       .values = args.key,
                       .sums = args.dquery,
                       .sum_factor = d.score_factor};
  for (std::int64_t sequence = 0; sequence < d.batch; ++sequence) {
    attention.run(pass, sequence, [&](const Strand& s, const Part& part, const Matrix& dweights) {
      masked_softmax_backward({.shape = attention.score_rows(s, part),
                               .dweights = static_cast<const float*>(dweights.data),
                               .dweights_head_stride = dweights.batch_stride,
                               .weights = attention.kept_rows(args.weights_BHTT, s, part),
                               .dscores = attention.kept_rows(args.dweights_BHTT, s, part)},
                              tools.stream);
    });
    attention.key_gradient(sequence, args.dvalue, args.weights_BHTT, args.dcontext, 1.0F);
    attention.key_gradient(sequence, args.dkey, args.dweights_BHTT, args.query, d.score_factor);
  }
  if (args.dbias_BHT.defined()) sum_by_distance(args.dbias_BHT, args.dweights_BHTT, tools.stream);
}

}  // namespace perfbench::engine::cuda
