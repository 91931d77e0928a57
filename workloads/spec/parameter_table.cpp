#include "workloads/spec/parameter_table.h"

#include <algorithm>
#include <array>

namespace perfbench::spec {
namespace {

class TableBuilder {
 public:
  TableBuilder(const ModelSpec& model, std::int64_t layer) : model_(model), layer_(layer) {
    if (layer >= 0) prefix_ = "layers." + std::to_string(layer) + ".";
  }

  void norm(const std::string& name) {
    add(name + ".weight", {model_.d_model}, "d_model", ParameterKind::norm);
    if (model_.norm == NormKind::layernorm && model_.bias == BiasKind::all) {
      add(name + ".bias", {model_.d_model}, "d_model", ParameterKind::norm);
    }
  }

  void linear(const std::string& name, std::int64_t out, std::int64_t in, const std::string& out_dim,
              const std::string& in_dim, bool has_bias, LinearOf block) {
    add(name + ".weight", {out, in}, out_dim + " " + in_dim, ParameterKind::matmul);
    table_.back().linear = block;
    if (has_bias) add(name + ".bias", {out}, out_dim, ParameterKind::bias);
  }

  // Linear layers of one input: their weights are contiguous, and so are their biases, so that they can be one product.
  struct Projection {
    std::string name;
    std::int64_t out;
    std::string out_dim;
  };
  void projections(const std::vector<Projection>& layers, bool has_bias, LinearOf block) {
    for (const auto& layer : layers)
      linear(layer.name, layer.out, model_.d_model, layer.out_dim, "d_model", false, block);
    if (!has_bias) return;
    for (const auto& layer : layers) add(layer.name + ".bias", {layer.out}, layer.out_dim, ParameterKind::bias);
  }

  void add(const std::string& name, std::vector<std::int64_t> shape, std::string dims, ParameterKind kind) {
    table_.push_back({prefix_ + name, std::move(shape), std::move(dims), kind, layer_, LinearOf::none});
  }

  std::vector<ParameterSpec> take() { return std::move(table_); }

 private:
  const ModelSpec& model_;
  std::int64_t layer_;
  std::string prefix_;
  std::vector<ParameterSpec> table_;
};

bool has_experts(const ModelSpec& model, std::int64_t layer) {
  return model.moe.n_experts > 0 && layer % model.moe.layer_stride == 0;
}

void dense_ffn(TableBuilder& table, const ModelSpec& model) {
  const bool bias = model.bias == BiasKind::all;
  std::vector<TableBuilder::Projection> in;
  if (is_gated(model.activation)) in.push_back({"gate", model.d_ff, "d_ff/tp"});
  in.push_back({"up", model.d_ff, "d_ff/tp"});
  table.projections(in, bias, LinearOf::feed_forward);
  table.linear("down", model.d_model, model.d_ff, "d_model", "d_ff/tp", bias, LinearOf::feed_forward);
}

void expert_ffn(TableBuilder& table, const ModelSpec& model) {
  const auto& moe = model.moe;
  table.linear("router", moe.n_experts, model.d_model, "experts", "d_model", false, LinearOf::none);
  const std::vector<std::int64_t> in_shape{moe.n_experts, moe.d_ff, model.d_model};
  if (is_gated(moe.activation)) {
    table.add("experts.gate.weight", in_shape, "experts/ep d_ff/tp d_model", ParameterKind::expert);
  }
  table.add("experts.up.weight", in_shape, "experts/ep d_ff/tp d_model", ParameterKind::expert);
  table.add("experts.down.weight", {moe.n_experts, model.d_model, moe.d_ff}, "experts/ep d_model d_ff/tp",
            ParameterKind::expert);
}

std::int64_t matmul_active(const ParameterSpec& parameter, const ModelSpec& model) {
  const auto n = parameter.elements();
  switch (parameter.kind) {
    case ParameterKind::matmul:
    case ParameterKind::unembedding:
    case ParameterKind::adapter_a:
    case ParameterKind::adapter_b:
      return n;
    case ParameterKind::expert:
      return n / model.moe.n_experts * model.moe.top_k;
    case ParameterKind::embedding:
      return model.tied_embedding ? n : 0;
    case ParameterKind::position:
    case ParameterKind::norm:
    case ParameterKind::bias:
      break;
  }
  return 0;
}

bool is_target(LinearOf linear, LoraTargets targets) {
  switch (linear) {
    case LinearOf::attention:
      return targets != LoraTargets::mlp;
    case LinearOf::feed_forward:
      return targets != LoraTargets::attention;
    case LinearOf::none:
      break;
  }
  return false;
}

// Layers differ only in their names and in whether they have experts. So it visits one layer of each kind, because
// plans of many cells do little else. Calls `visit` with that layer, and with the number of layers like it.
template <class Visit>
void for_each_kind_of_layer(const ModelSpec& model, const Visit& visit) {
  std::array<std::int64_t, 2> first{};
  std::array<std::int64_t, 2> times{};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::size_t kind = has_experts(model, layer) ? 1 : 0;
    if (times[kind]++ == 0) first[kind] = layer;
  }
  for (const std::size_t kind : {0U, 1U}) {
    if (times[kind] > 0) visit(first[kind], times[kind]);
  }
}

}  // namespace

std::vector<std::string_view> ParameterSpec::axes() const {
  std::vector<std::string_view> out;
  for (std::string_view rest = dims; !rest.empty();) {
    const auto dim = rest.substr(0, rest.find(' '));
    const auto slash = dim.find('/');
    out.push_back(slash == std::string_view::npos ? std::string_view() : dim.substr(slash + 1));
    rest.remove_prefix(std::min(rest.size(), dim.size() + 1));
  }
  return out;
}

std::vector<ParameterSpec> layer_parameters(const ModelSpec& model, std::int64_t layer) {
  TableBuilder table(model, layer);
  const bool qkv_bias = model.bias != BiasKind::none;
  const auto width_q = model.n_heads * model.head_dim;
  const auto width_kv = model.n_kv_heads * model.head_dim;
  table.norm("attention_norm");
  table.projections({{"query", width_q, "heads*head_dim/tp"},
                     {"key", width_kv, "kv_heads*head_dim/tp"},
                     {"value", width_kv, "kv_heads*head_dim/tp"}},
                    qkv_bias, LinearOf::attention);
  if (model.qk_norm == QkNorm::head) {
    for (const auto* name : {"query_norm.weight", "key_norm.weight"}) {
      table.add(name, {model.head_dim}, "head_dim", ParameterKind::norm);
    }
  }
  if (model.needs_block(MissingBlock::projection_norm)) {
    table.add("query_norm.weight", {width_q}, "heads*head_dim/tp", ParameterKind::norm);
    table.add("key_norm.weight", {width_kv}, "kv_heads*head_dim/tp", ParameterKind::norm);
  }
  if (model.position.kind == PositionKind::t5_relative_bias) {  // each layer has its own table, as in GLaM
    table.add("relative_bias", {model.position.t5_buckets, model.n_heads}, "buckets heads/tp", ParameterKind::position);
  }
  table.linear("out", model.d_model, width_q, "d_model", "heads*head_dim/tp", model.bias == BiasKind::all,
               LinearOf::attention);
  if (model.needs_block(MissingBlock::norms_around)) {
    table.norm("attention_post_norm");
    table.norm("mlp_post_norm");
  }
  table.norm("mlp_norm");
  if (has_experts(model, layer)) {
    expert_ffn(table, model);
  } else {
    dense_ffn(table, model);
  }
  return table.take();
}

std::vector<ParameterSpec> layer_adapters(const ModelSpec& model, const LoraSpec& lora, std::int64_t layer) {
  std::vector<ParameterSpec> adapters;
  if (!lora.used()) return adapters;
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  for (const auto& weight : layer_parameters(model, layer)) {
    if (!is_target(weight.linear, lora.targets)) continue;
    const std::string_view linear = std::string_view(weight.name).substr(prefix.size());
    const std::string name = prefix + "lora." + std::string(linear.substr(0, linear.find('.')));
    const std::string out_dim = weight.dims.substr(0, weight.dims.find(' '));
    const std::string in_dim = weight.dims.substr(out_dim.size() + 1);
    adapters.push_back(
        {name + ".a", {lora.rank, weight.shape[1]}, "rank " + in_dim, ParameterKind::adapter_a, layer, LinearOf::none});
    adapters.push_back({name + ".b",
                        {weight.shape[0], lora.rank},
                        out_dim + " rank",
                        ParameterKind::adapter_b,
                        layer,
                        LinearOf::none});
  }
  return adapters;
}

std::vector<ParameterSpec> outer_parameters(const ModelSpec& model) {
  TableBuilder table(model, -1);
  table.add("token_embedding", {model.vocab_size, model.d_model}, "vocab/tp d_model", ParameterKind::embedding);
  if (model.position.kind == PositionKind::learned) {
    table.add("position_embedding", {model.max_seq_len, model.d_model}, "position d_model", ParameterKind::position);
  }
  table.norm("final_norm");
  if (!model.tied_embedding) {
    table.add("unembedding", {model.vocab_size, model.d_model}, "vocab/tp d_model", ParameterKind::unembedding);
  }
  return table.take();
}

std::vector<ParameterSpec> parameter_table(const ModelSpec& model) {
  std::vector<ParameterSpec> table;
  std::vector<ParameterSpec> tail;
  for (auto& parameter : outer_parameters(model)) {
    const bool first = parameter.kind == ParameterKind::embedding || parameter.kind == ParameterKind::position;
    (first ? table : tail).push_back(std::move(parameter));
  }
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (auto& parameter : layer_parameters(model, layer)) table.push_back(std::move(parameter));
  }
  for (auto& parameter : tail) table.push_back(std::move(parameter));
  return table;
}

ParameterCounts count_parameters(const ModelSpec& model) {
  ParameterCounts counts;
  const auto add = [&](const std::vector<ParameterSpec>& parameters, std::int64_t times) {
    for (const auto& parameter : parameters) {
      counts.total += times * parameter.elements();
      counts.matmul_active += times * matmul_active(parameter, model);
    }
  };
  add(outer_parameters(model), 1);
  for_each_kind_of_layer(model,
                         [&](std::int64_t layer, std::int64_t times) { add(layer_parameters(model, layer), times); });
  return counts;
}

std::int64_t count_adapters(const ModelSpec& model, const LoraSpec& lora) {
  std::int64_t elements = 0;
  for_each_kind_of_layer(model, [&](std::int64_t layer, std::int64_t times) {
    for (const auto& parameter : layer_adapters(model, lora, layer)) elements += times * parameter.elements();
  });
  return elements;
}

}  // namespace perfbench::spec
