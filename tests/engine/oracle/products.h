// Plain-loop f64 definitions: matrix products and attention, forward and backward.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/ops/ops.h"
#include "tests/engine/oracle/operand.h"

namespace perfbench::engine::oracle {

inline std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// A value and the sum of the magnitudes of its terms, which bounds its rounding errors.
struct WithMagnitude {
  Values value;
  Values magnitude;
};

struct ProductSize {
  std::int64_t m, n, k;
};

inline WithMagnitude matmul(const Values& a, Transpose transpose_a, const Values& b, Transpose transpose_b,
                            ProductSize s) {
  WithMagnitude c{Values(index(s.m * s.n)), Values(index(s.m * s.n))};
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t l = 0; l < s.k; ++l) {
        const double x = a[index(transpose_a == Transpose::yes ? l * s.m + i : i * s.k + l)];
        const double y = b[index(transpose_b == Transpose::yes ? j * s.k + l : l * s.n + j)];
        c.value[index(i * s.n + j)] += x * y;
        c.magnitude[index(i * s.n + j)] += std::abs(x * y);
      }
    }
  }
  return c;
}

// The index of (b, t, head, d) in [B*T, heads*D], and of (b, h, i, j) in [B, H, T, T].
inline std::size_t at_head(const AttentionDims& s, std::int64_t heads, std::int64_t b, std::int64_t t, std::int64_t h,
                           std::int64_t d) {
  return index(((b * s.seq_len + t) * heads + h) * s.head_dim + d);
}
inline std::size_t at_score(const AttentionDims& s, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return index(((b * s.n_heads + h) * s.seq_len + i) * s.seq_len + j);
}

struct AttentionResult {
  Values context;
  Values logsumexp;
  Values weights;
  Values score_magnitude;    // of a row's scores: max over keys of scale * sum |q||k| + |bias|; shaped like logsumexp
  Values context_magnitude;  // sum over keys of weight * |v|
};

struct ScoreRules {
  Values bias = {};   // [H, T], by distance; empty without a bias
  Values first = {};  // [B*T], the first key of its sequence that a query sees; empty: 0

  std::int64_t first_key(const AttentionDims& s, std::int64_t b, std::int64_t i) const {
    return first.empty() ? 0 : static_cast<std::int64_t>(first[index(b * s.seq_len + i)]);
  }
};

inline AttentionResult attention_forward(const Values& q, const Values& k, const Values& v, const AttentionDims& s,
                                         const ScoreRules& rules = {}) {
  const Values& bias = rules.bias;
  const std::int64_t group = s.n_heads / s.n_kv_heads;
  const double scale = static_cast<double>(s.score_factor);
  const auto rows = index(s.batch * s.n_heads * s.seq_len);
  AttentionResult r{Values(q.size()), Values(rows), Values(rows * index(s.seq_len)), Values(rows), Values(q.size())};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.n_heads; ++h) {
      for (std::int64_t i = 0; i < s.seq_len; ++i) {
        const auto row = index((b * s.n_heads + h) * s.seq_len + i);
        const std::int64_t first = rules.first_key(s, b, i);
        Values scores;
        for (std::int64_t j = first; j <= i; ++j) {
          double score = bias.empty() ? 0.0 : bias[index(h * s.seq_len + i - j)];
          double magnitude = std::abs(score);
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            const double term =
                scale * q[at_head(s, s.n_heads, b, i, h, d)] * k[at_head(s, s.n_kv_heads, b, j, h / group, d)];
            score += term;
            magnitude += std::abs(term);
          }
          scores.push_back(score);
          r.score_magnitude[row] = std::max(r.score_magnitude[row], magnitude);
        }
        const double most = *std::max_element(scores.begin(), scores.end());  // subtracted, so that no exp overflows
        double sum = 0.0;
        for (std::int64_t j = first; j <= i; ++j) {
          sum += r.weights[at_score(s, b, h, i, j)] = std::exp(scores[index(j - first)] - most);
        }
        r.logsumexp[row] = most + std::log(sum);
        for (std::int64_t j = first; j <= i; ++j) {
          const double weight = r.weights[at_score(s, b, h, i, j)] /= sum;
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            const double value = v[at_head(s, s.n_kv_heads, b, j, h / group, d)];
            r.context[at_head(s, s.n_heads, b, i, h, d)] += weight * value;
            r.context_magnitude[at_head(s, s.n_heads, b, i, h, d)] += weight * std::abs(value);
          }
        }
      }
    }
  }
  return r;
}

struct AttentionGradient {
  WithMagnitude dquery;
  WithMagnitude dkey;
  WithMagnitude dvalue;
  WithMagnitude dbias;  // [B, H, T]
};

// By the chain rule through softmax: ds[j] = w[j] (dw[j] - sum over l of w[l] dw[l]), dw[j] = dcontext . v[j].
inline AttentionGradient attention_backward(const Values& dcontext, const Values& q, const Values& k, const Values& v,
                                            const AttentionDims& s, const ScoreRules& rules = {}) {
  const auto forward = attention_forward(q, k, v, s, rules);
  const auto rows = index(s.batch * s.n_heads * s.seq_len);
  const std::int64_t group = s.n_heads / s.n_kv_heads;
  const double scale = static_cast<double>(s.score_factor);
  AttentionGradient g{{Values(q.size()), Values(q.size())},
                      {Values(k.size()), Values(k.size())},
                      {Values(v.size()), Values(v.size())},
                      {Values(rows), Values(rows)}};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.n_heads; ++h) {
      for (std::int64_t i = 0; i < s.seq_len; ++i) {
        Values dweight(index(i + 1));
        Values magnitude(index(i + 1));
        double mean = 0.0;
        double mean_magnitude = 0.0;
        for (std::int64_t j = 0; j <= i; ++j) {
          const double weight = forward.weights[at_score(s, b, h, i, j)];
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            const double up = dcontext[at_head(s, s.n_heads, b, i, h, d)];
            const auto at_v = at_head(s, s.n_kv_heads, b, j, h / group, d);
            dweight[index(j)] += up * v[at_v];
            magnitude[index(j)] += std::abs(up * v[at_v]);
            g.dvalue.value[at_v] += weight * up;
            g.dvalue.magnitude[at_v] += weight * std::abs(up);
          }
          mean += weight * dweight[index(j)];
          mean_magnitude += weight * magnitude[index(j)];
        }
        for (std::int64_t j = 0; j <= i; ++j) {
          const double weight = forward.weights[at_score(s, b, h, i, j)];
          const double unscaled = weight * (dweight[index(j)] - mean);
          const double unscaled_magnitude = weight * (magnitude[index(j)] + mean_magnitude);
          g.dbias.value[index((b * s.n_heads + h) * s.seq_len + i - j)] += unscaled;
          g.dbias.magnitude[index((b * s.n_heads + h) * s.seq_len + i - j)] += unscaled_magnitude;
          const double dscore = unscaled * scale;
          const double dscore_magnitude = unscaled_magnitude * scale;
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            const auto at_q = at_head(s, s.n_heads, b, i, h, d);
            const auto at_k = at_head(s, s.n_kv_heads, b, j, h / group, d);
            g.dquery.value[at_q] += dscore * k[at_k];
            g.dquery.magnitude[at_q] += dscore_magnitude * std::abs(k[at_k]);
            g.dkey.value[at_k] += dscore * q[at_q];
            g.dkey.magnitude[at_k] += dscore_magnitude * std::abs(q[at_q]);
          }
        }
      }
    }
  }
  return g;
}

}  // namespace perfbench::engine::oracle
