// Plain-loop f64 definitions of all operations on rows or elements.
#pragma once

#include <cmath>
#include <numbers>

#include "tests/engine/oracle/products.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::engine::oracle {

struct RowsShape {
  std::int64_t rows, width;
};

struct NormResult {
  Values y;
  Values mean;  // zero for rmsnorm
  Values rstd;
};

inline NormResult norm_forward(const Values& x, const Values& weight, const Values& bias, RowsShape s,
                               spec::NormKind kind, double eps) {
  NormResult r{Values(x.size()), Values(index(s.rows)), Values(index(s.rows))};
  for (std::int64_t i = 0; i < s.rows; ++i) {
    double mean = 0.0;
    double square = 0.0;
    if (kind == spec::NormKind::layernorm) {
      for (std::int64_t j = 0; j < s.width; ++j) mean += x[index(i * s.width + j)] / static_cast<double>(s.width);
    }
    for (std::int64_t j = 0; j < s.width; ++j) {
      const double d = x[index(i * s.width + j)] - mean;
      square += d * d / static_cast<double>(s.width);
    }
    r.mean[index(i)] = mean;
    r.rstd[index(i)] = 1.0 / std::sqrt(square + eps);
    for (std::int64_t j = 0; j < s.width; ++j) {
      const auto at = index(i * s.width + j);
      r.y[at] = (x[at] - mean) * r.rstd[index(i)] * weight[index(j)] + (bias.empty() ? 0.0 : bias[index(j)]);
    }
  }
  return r;
}

struct NormGradient {
  WithMagnitude dx;
  WithMagnitude dweight;
  WithMagnitude dbias;
};

// d/dx of sum over rows of dy . y: with the normalised row h and g = dy * weight, dx = rstd (g - mean g - h mean(g h));
// without "- mean g" for rmsnorm.
inline NormGradient norm_backward(const Values& dy, const Values& x, const Values& weight, RowsShape s,
                                  spec::NormKind kind, double eps) {
  const auto forward = norm_forward(x, weight, {}, s, kind, eps);
  const auto n = static_cast<double>(s.width);
  NormGradient r{{Values(x.size()), Values(x.size())},
                 {Values(index(s.width)), Values(index(s.width))},
                 {Values(index(s.width)), Values(index(s.width))}};
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const double rstd = forward.rstd[index(i)];
    const double mean = forward.mean[index(i)];
    double mean_g = 0.0, mean_gh = 0.0, size_g = 0.0, size_gh = 0.0;
    const auto h_at = [&](std::size_t at) { return (x[at] - mean) * rstd; };
    const auto h_size = [&](std::size_t at) { return (std::abs(x[at]) + std::abs(mean)) * rstd; };
    for (std::int64_t j = 0; j < s.width; ++j) {
      const auto at = index(i * s.width + j);
      const double g = dy[at] * weight[index(j)];
      mean_g += g / n;
      mean_gh += g * h_at(at) / n;
      size_g += std::abs(g) / n;
      size_gh += std::abs(g) * h_size(at) / n;
      r.dweight.value[index(j)] += dy[at] * h_at(at);
      r.dweight.magnitude[index(j)] += std::abs(dy[at]) * h_size(at);
      r.dbias.value[index(j)] += dy[at];
      r.dbias.magnitude[index(j)] += std::abs(dy[at]);
    }
    if (kind == spec::NormKind::rmsnorm) mean_g = size_g = 0.0;
    for (std::int64_t j = 0; j < s.width; ++j) {
      const auto at = index(i * s.width + j);
      const double g = dy[at] * weight[index(j)];
      r.dx.value[at] = rstd * (g - mean_g - h_at(at) * mean_gh);
      r.dx.magnitude[at] = rstd * (std::abs(g) + size_g + h_size(at) * size_gh);
    }
  }
  return r;
}

// Rotates each pair of a head by the angle whose cosine and sine are in the table, or by its negative.
inline Values rope(Values x, const Values& cos_sin, std::int64_t width, std::int64_t head_dim, std::int64_t seq_len,
                   spec::RopeLayout layout, Direction direction) {
  const auto rows = static_cast<std::int64_t>(x.size()) / width;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t head = 0; head < width; head += head_dim) {
      for (std::int64_t i = 0; i < head_dim / 2; ++i) {
        const bool half = layout == spec::RopeLayout::half;
        const auto first = index(r * width + head + (half ? i : 2 * i));
        const auto second = index(r * width + head + (half ? i + head_dim / 2 : 2 * i + 1));
        const double c = cos_sin[index(r % seq_len * head_dim + i)];
        const double s =
            cos_sin[index(r % seq_len * head_dim + head_dim / 2 + i)] * (direction == Direction::forward ? 1.0 : -1.0);
        const double a = x[first], b = x[second];
        x[first] = a * c - b * s;
        x[second] = a * s + b * c;
      }
    }
  }
  return x;
}

// The function of an activation, without the gate's product.
inline double activation(double x, spec::Activation kind) {
  switch (kind) {
    case spec::Activation::relu:
      return x > 0 ? x : 0.0;
    case spec::Activation::swiglu:
      return x / (1.0 + std::exp(-x));
    case spec::Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case spec::Activation::gelu_tanh:
    case spec::Activation::geglu:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  return 0.0;
}

inline double activation_slope(double x, spec::Activation kind) {
  switch (kind) {
    case spec::Activation::relu:
      return x > 0 ? 1.0 : 0.0;
    case spec::Activation::swiglu: {
      const double s = 1.0 / (1.0 + std::exp(-x));
      return s * (1.0 + x * (1.0 - s));
    }
    case spec::Activation::gelu:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    case spec::Activation::gelu_tanh:
    case spec::Activation::geglu: {
      const double root = std::sqrt(2.0 / std::numbers::pi);
      const double t = std::tanh(root * (x + 0.044715 * x * x * x));
      return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
    }
  }
  return 0.0;
}

struct LossResult {
  Values losses;
  Values dlogits;
};

// A negative target means that there is none.
inline LossResult cross_entropy(const Values& logits, const Values& targets, RowsShape s, double gradient_scale) {
  LossResult r{Values(index(s.rows)), Values(logits.size())};
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const auto target = static_cast<std::int64_t>(targets[index(i)]);
    if (target < 0) continue;
    double most = -INFINITY;
    for (std::int64_t j = 0; j < s.width; ++j) most = std::max(most, logits[index(i * s.width + j)]);
    double sum = 0.0;
    for (std::int64_t j = 0; j < s.width; ++j) sum += std::exp(logits[index(i * s.width + j)] - most);
    r.losses[index(i)] = std::log(sum) + most - logits[index(i * s.width + target)];
    for (std::int64_t j = 0; j < s.width; ++j) {
      const double p = std::exp(logits[index(i * s.width + j)] - most) / sum;
      r.dlogits[index(i * s.width + j)] = (p - (j == target ? 1.0 : 0.0)) * gradient_scale;
    }
  }
  return r;
}

}  // namespace perfbench::engine::oracle
