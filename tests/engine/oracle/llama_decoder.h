// A decoder of the LLaMA kind as plain loops in f64: its whole forward pass, one document at a time. It uses no code of
// the engine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::engine::oracle {

class LlamaDecoder {
 public:
  using Row = std::vector<double>;
  // By name, as in workloads/spec/parameter_table.h: norms [M], all else [out, in].
  using Weights = std::function<std::vector<float>(const std::string& name)>;

  LlamaDecoder(const spec::ModelSpec& model, Weights weights) : model_(model), weights_(std::move(weights)) {}

  // For every token the logits of the next one.
  std::vector<Row> logits(const std::vector<std::int32_t>& ids) const {
    const auto table = weights_("token_embedding");
    const auto width = static_cast<std::size_t>(model_.d_model);
    std::vector<Row> x;
    for (const auto id : ids) {
      const auto first = table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(id) * width);
      x.emplace_back(first, first + static_cast<std::ptrdiff_t>(width));
    }
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
      const std::string prefix = "layers." + std::to_string(layer) + ".";
      add(x, attention(prefix, normed(x, prefix + "attention_norm.weight")));
      add(x, feed_forward(prefix, normed(x, prefix + "mlp_norm.weight")));
    }
    return product(normed(x, "final_norm.weight"), "unembedding");
  }

 private:
  static void add(std::vector<Row>& x, const std::vector<Row>& more) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += more[t][i];
    }
  }

  std::vector<Row> normed(const std::vector<Row>& x, const std::string& name) const {
    const auto weight = weights_(name);
    std::vector<Row> y = x;
    for (auto& row : y) {
      double squares = 0;
      for (const auto value : row) squares += value * value;
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(row.size()) + model_.norm_eps);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] *= scale * static_cast<double>(weight[i]);
    }
    return y;
  }

  std::vector<Row> product(const std::vector<Row>& x, const std::string& name) const {
    const auto weight = weights_(name);
    const std::size_t inputs = x.front().size();
    std::vector<Row> y(x.size(), Row(weight.size() / inputs));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t o = 0; o < y[t].size(); ++o) {
        for (std::size_t i = 0; i < inputs; ++i) y[t][o] += static_cast<double>(weight[o * inputs + i]) * x[t][i];
      }
    }
    return y;
  }

  // In each head, the pairs (i, i + half) rotated by t * theta^(-2i / head_dim).
  void rotate(std::vector<Row>& x) const {
    const auto size = static_cast<std::size_t>(model_.head_dim);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t head = 0; head < x[t].size(); head += size) {
        for (std::size_t i = 0; i < size / 2; ++i) {
          const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(size);
          const double angle = static_cast<double>(t) * std::pow(model_.position.rope_theta, exponent);
          const double a = x[t][head + i];
          const double b = x[t][head + size / 2 + i];
          x[t][head + i] = a * std::cos(angle) - b * std::sin(angle);
          x[t][head + size / 2 + i] = a * std::sin(angle) + b * std::cos(angle);
        }
      }
    }
  }

  // Several query heads read one key/value head.
  std::vector<Row> attention(const std::string& prefix, const std::vector<Row>& x) const {
    auto query = product(x, prefix + "query.weight");
    auto key = product(x, prefix + "key.weight");
    const auto value = product(x, prefix + "value.weight");
    rotate(query);
    rotate(key);
    const auto size = static_cast<std::size_t>(model_.head_dim);
    const auto heads = static_cast<std::size_t>(model_.n_heads);
    const std::size_t sharers = heads / static_cast<std::size_t>(model_.n_kv_heads);
    std::vector<Row> context(x.size(), Row(heads * size));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t kv = h / sharers * size;
        Row share(t + 1);
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (std::size_t i = 0; i < size; ++i) score += query[t][h * size + i] * key[s][kv + i];
          share[s] = std::exp(score / std::sqrt(static_cast<double>(size)));
          sum += share[s];
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = 0; i < size; ++i) context[t][h * size + i] += share[s] / sum * value[s][kv + i];
        }
      }
    }
    return product(context, prefix + "out.weight");
  }

  std::vector<Row> feed_forward(const std::string& prefix, const std::vector<Row>& x) const {
    const auto gate = product(x, prefix + "gate.weight");
    auto hidden = product(x, prefix + "up.weight");
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < hidden[t].size(); ++i) hidden[t][i] *= gate[t][i] / (1.0 + std::exp(-gate[t][i]));
    }
    return product(hidden, prefix + "down.weight");
  }

  const spec::ModelSpec& model_;
  Weights weights_;
};

}  // namespace perfbench::engine::oracle
