#include <cmath>
#include <vector>

#include "engine/ops/cuda/elements.cuh"
#include "tests/engine/emulation/twins/plain_providers.h"

namespace perfbench::engine::cuda {
namespace {

using Doubles = std::vector<double>;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

Doubles values_of(const TensorView& t) {
  Doubles values(index(t.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(t.dtype == DType::bf16 ? to_f32(t.as<const Bf16>()[i]) : t.as<const float>()[i]);
  }
  return values;
}

void set(const TensorView& t, const Doubles& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (t.dtype == DType::bf16) t.as<Bf16>()[i] = from_f32<Bf16>(value);
    if (t.dtype == DType::f32) t.as<float>()[i] = value;
  }
}

// One query row (b, h, i) of a causal attention, in f64.
struct Row {
  const AttentionDims& dims;
  std::int64_t b, h, i;

  std::size_t query(std::int64_t d) const {
    return index(((b * dims.seq_len + i) * dims.n_heads + h) * dims.head_dim + d);
  }
  std::size_t key(std::int64_t j, std::int64_t d) const {
    const std::int64_t head = h / (dims.n_heads / dims.n_kv_heads);
    return index(((b * dims.seq_len + j) * dims.n_kv_heads + head) * dims.head_dim + d);
  }
  std::int64_t number() const { return (b * dims.n_heads + h) * dims.seq_len + i; }

  // The probabilities of keys 0 .. i.
  Doubles probabilities(const Doubles& q, const Doubles& k, double& logsumexp) const {
    Doubles p(index(i + 1));
    double most = -INFINITY;
    for (std::int64_t j = 0; j <= i; ++j) {
      for (std::int64_t d = 0; d < dims.head_dim; ++d) p[index(j)] += q[query(d)] * k[key(j, d)];
      p[index(j)] /= std::sqrt(static_cast<double>(dims.head_dim));
      most = std::max(most, p[index(j)]);
    }
    double sum = 0.0;
    for (auto& x : p) sum += x = std::exp(x - most);
    for (auto& x : p) x /= sum;
    logsumexp = most + std::log(sum);
    return p;
  }
};

template <class F>
void for_each_row(const AttentionDims& dims, F f) {
  for (std::int64_t b = 0; b < dims.batch; ++b) {
    for (std::int64_t h = 0; h < dims.n_heads; ++h) {
      for (std::int64_t i = 0; i < dims.seq_len; ++i) f(Row{dims, b, h, i});
    }
  }
}

__global__ void forward_kernel(AttentionForwardArgs args) {
  const Doubles q = values_of(args.query), k = values_of(args.key), v = values_of(args.value);
  Doubles context(q.size());
  Doubles logsumexp(index(args.logsumexp_BHT.elements()));
  Doubles weights(args.weights_BHTT.defined() ? index(args.weights_BHTT.elements()) : 0);
  for_each_row(args.dims, [&](const Row& row) {
    const Doubles p = row.probabilities(q, k, logsumexp[index(row.number())]);
    for (std::int64_t j = 0; j <= row.i; ++j) {
      if (!weights.empty()) weights[index(row.number() * args.dims.seq_len + j)] = p[index(j)];
      for (std::int64_t d = 0; d < args.dims.head_dim; ++d) context[row.query(d)] += p[index(j)] * v[row.key(j, d)];
    }
  });
  set(args.context, context);
  set(args.logsumexp_BHT, logsumexp);
  if (!weights.empty()) set(args.weights_BHTT, weights);
}

__global__ void backward_kernel(AttentionBackwardArgs args) {
  const Doubles q = values_of(args.query), k = values_of(args.key), v = values_of(args.value);
  const Doubles up = values_of(args.dcontext);
  const double scale = 1.0 / std::sqrt(static_cast<double>(args.dims.head_dim));
  Doubles dq(q.size()), dk(k.size()), dv(v.size());
  for_each_row(args.dims, [&](const Row& row) {
    double logsumexp = 0.0;
    const Doubles p = row.probabilities(q, k, logsumexp);
    Doubles dp(p.size());
    double mean = 0.0;
    for (std::int64_t j = 0; j <= row.i; ++j) {
      for (std::int64_t d = 0; d < args.dims.head_dim; ++d) {
        dp[index(j)] += up[row.query(d)] * v[row.key(j, d)];
        dv[row.key(j, d)] += p[index(j)] * up[row.query(d)];
      }
      mean += p[index(j)] * dp[index(j)];
    }
    for (std::int64_t j = 0; j <= row.i; ++j) {
      const double ds = p[index(j)] * (dp[index(j)] - mean) * scale;
      for (std::int64_t d = 0; d < args.dims.head_dim; ++d) {
        dq[row.query(d)] += ds * k[row.key(j, d)];
        dk[row.key(j, d)] += ds * q[row.query(d)];
      }
    }
  });
  set(args.dquery, dq);
  set(args.dkey, dk);
  set(args.dvalue, dv);
}

}  // namespace

void AttentionProvider::forward(const AttentionForwardArgs& args, cudaStream_t stream) {
  launch("plain_attention_forward", forward_kernel, {.grid = 1, .block = 1, .stream = stream}, args);
}

void AttentionProvider::backward(const AttentionBackwardArgs& args, cudaStream_t stream) {
  launch("plain_attention_backward", backward_kernel, {.grid = 1, .block = 1, .stream = stream}, args);
}

}  // namespace perfbench::engine::cuda
