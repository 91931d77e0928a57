#include "engine/weights/layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/core/error.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {
namespace {

using Json = nlohmann::ordered_json;

enum class Family { gpt2, llama, qwen2, qwen3, mixtral, qwen3_moe };

[[noreturn]] void no_layout(const spec::ModelSpec& model, const std::string& why) {
  throw BadInput("weights: no known implementation in transformers computes " + model.name + ": " + why);
}

// Checks the requirements that all families share; throws the reason if the model does not meet them.
void check_rotated(const spec::ModelSpec& model) {
  if (model.norm != spec::NormKind::rmsnorm) no_layout(model, "layernorm is supported only with learned positions");
  if (model.activation != spec::Activation::swiglu) {
    no_layout(model, "its activation is " + std::string(spec::enum_name(model.activation)) + ", but theirs is swiglu");
  }
}

Family family_of_experts(const spec::ModelSpec& model) {
  const auto& moe = model.moe;
  if (moe.routing != spec::MoeRouting::topk_softmax || moe.capacity_factor != 0.0 || moe.layer_stride != 1 ||
      moe.activation != spec::Activation::swiglu) {
    no_layout(model, "its experts are not Mixtral's (topk_softmax in every layer, dropless, swiglu)");
  }
  if (model.bias != spec::BiasKind::none) no_layout(model, "Mixtral has no biases");
  return model.qk_norm == spec::QkNorm::none ? Family::mixtral : Family::qwen3_moe;
}

Family family_of(const spec::ModelSpec& model) {
  if (!model.needs.empty()) no_layout(model, "it has blocks that the engine does not have");
  if (model.attention_scale != 0.0) no_layout(model, "it has its own attention_scale");
  if (model.position.kind == spec::PositionKind::t5_relative_bias) no_layout(model, "it has T5's relative positions");
  if (model.position.kind == spec::PositionKind::learned) {
    if (model.norm != spec::NormKind::layernorm || model.bias != spec::BiasKind::all || model.moe.n_experts > 0 ||
        model.n_kv_heads != model.n_heads || model.n_heads * model.head_dim != model.d_model ||
        model.activation == spec::Activation::swiglu || model.activation == spec::Activation::geglu) {
      no_layout(
          model,
          "learned positions need GPT-2's layernorm, biases, equal numbers of heads, and heads that add up to d_model");
    }
    return Family::gpt2;
  }
  check_rotated(model);
  if (model.moe.n_experts > 0) return family_of_experts(model);
  if (model.bias == spec::BiasKind::all) no_layout(model, "it has biases everywhere");
  if (model.bias == spec::BiasKind::qkv) {
    if (model.qk_norm != spec::QkNorm::none)
      no_layout(model, "Qwen2 has biases and Qwen3 has norms of heads, but no family has both");
    return Family::qwen2;
  }
  return model.qk_norm == spec::QkNorm::none ? Family::llama : Family::qwen3;
}

// Builds the list, one of our parameters at a time.
class Layout {
 public:
  explicit Layout(const spec::ModelSpec& model) : model_(model) {
    for (auto& parameter : spec::parameter_table(model)) parameters_.push_back(std::move(parameter));
  }

  // A parameter that both store the same way.
  void same(const std::string& ours, const std::string& theirs) {
    const auto& p = parameter(ours);
    const std::int64_t columns = p.shape.size() == 1 ? 1 : p.elements() / p.shape[0];
    out_.push_back({theirs, p.shape, {block(p, 0, p.shape[0], columns)}});
  }
  // The weights of queries or keys, whose heads are rotated.
  void rotated(const std::string& ours, const std::string& theirs) {
    same(ours, theirs);
    const bool pairs = model_.position.rope_layout == spec::RopeLayout::interleaved;
    if (pairs) out_.back().blocks.front().paired_rows = model_.head_dim;
  }
  // Our [out, in] is their [in, out].
  void transposed(const std::string& ours, const std::string& theirs) { side_by_side({ours}, theirs); }
  // Several of our matrices, transposed and side by side; biases one behind the other.
  void side_by_side(const std::vector<std::string>& ours, const std::string& theirs) {
    TheirTensor tensor{.name = theirs, .shape = {}, .blocks = {}};
    std::int64_t outputs = 0;
    for (const auto& name : ours) outputs += parameter(name).shape[0];
    std::int64_t first = 0;
    for (const auto& name : ours) {
      const auto& p = parameter(name);
      const std::int64_t inputs = p.shape.size() == 1 ? 1 : p.shape[1];
      tensor.shape = p.shape.size() == 1 ? std::vector{outputs} : std::vector{inputs, outputs};
      auto piece = block(p, 0, p.shape[0], inputs);
      piece.their_first = first;
      piece.row_stride = 1;
      piece.column_stride = outputs;
      tensor.blocks.push_back(std::move(piece));
      first += p.shape[0];
    }
    out_.push_back(std::move(tensor));
  }
  // One expert's part of [experts, out, in].
  void expert(const std::string& ours, std::int64_t index, const std::string& theirs) {
    const auto& p = parameter(ours);
    out_.push_back(
        {theirs, {p.shape[1], p.shape[2]}, {block(p, index * p.shape[1] * p.shape[2], p.shape[1], p.shape[2])}});
  }

  std::vector<TheirTensor> take() { return std::move(out_); }

 private:
  const spec::ParameterSpec& parameter(const std::string& name) const {
    const auto found =
        std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.name == name; });
    if (found == parameters_.end()) throw LogicFault("weights: the model has no " + name);
    return *found;
  }
  static WeightBlock block(const spec::ParameterSpec& p, std::int64_t first, std::int64_t rows, std::int64_t columns) {
    return {.parameter = p.name,
            .first = first,
            .rows = rows,
            .columns = columns,
            .row_stride = columns,
            .column_stride = 1};
  }

  const spec::ModelSpec& model_;
  std::vector<spec::ParameterSpec> parameters_;
  std::vector<TheirTensor> out_;
};

void lay_out_gpt2(Layout& out, const spec::ModelSpec& model) {
  const std::string base = "transformer.";
  out.same("token_embedding", base + "wte.weight");
  out.same("position_embedding", base + "wpe.weight");
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string ours = "layers." + std::to_string(i) + ".";
    const std::string theirs = base + "h." + std::to_string(i) + ".";
    for (const auto* part : {".weight", ".bias"}) {
      const std::string end = part;
      out.same(ours + "attention_norm" + end, theirs + "ln_1" + end);
      out.side_by_side({ours + "query" + end, ours + "key" + end, ours + "value" + end}, theirs + "attn.c_attn" + end);
      out.transposed(ours + "out" + end, theirs + "attn.c_proj" + end);
      out.same(ours + "mlp_norm" + end, theirs + "ln_2" + end);
      out.transposed(ours + "up" + end, theirs + "mlp.c_fc" + end);
      out.transposed(ours + "down" + end, theirs + "mlp.c_proj" + end);
    }
  }
  for (const auto* part : {".weight", ".bias"}) out.same(std::string("final_norm") + part, base + "ln_f" + part);
}

void lay_out_experts(Layout& out, const spec::ModelSpec& model, Family family, const std::string& ours,
                     const std::string& theirs) {
  const bool mixtral = family == Family::mixtral;
  const std::string block = theirs + (mixtral ? "block_sparse_moe." : "mlp.");
  out.same(ours + "router.weight", block + "gate.weight");
  for (std::int64_t e = 0; e < model.moe.n_experts; ++e) {
    const std::string expert = block + "experts." + std::to_string(e) + ".";
    out.expert(ours + "experts.gate.weight", e, expert + (mixtral ? "w1" : "gate_proj") + ".weight");
    out.expert(ours + "experts.up.weight", e, expert + (mixtral ? "w3" : "up_proj") + ".weight");
    out.expert(ours + "experts.down.weight", e, expert + (mixtral ? "w2" : "down_proj") + ".weight");
  }
}

void lay_out_rotated(Layout& out, const spec::ModelSpec& model, Family family) {
  out.same("token_embedding", "model.embed_tokens.weight");
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string ours = "layers." + std::to_string(i) + ".";
    const std::string theirs = "model.layers." + std::to_string(i) + ".";
    out.same(ours + "attention_norm.weight", theirs + "input_layernorm.weight");
    out.rotated(ours + "query.weight", theirs + "self_attn.q_proj.weight");
    out.rotated(ours + "key.weight", theirs + "self_attn.k_proj.weight");
    out.same(ours + "value.weight", theirs + "self_attn.v_proj.weight");
    if (model.bias == spec::BiasKind::qkv) {
      out.rotated(ours + "query.bias", theirs + "self_attn.q_proj.bias");
      out.rotated(ours + "key.bias", theirs + "self_attn.k_proj.bias");
      out.same(ours + "value.bias", theirs + "self_attn.v_proj.bias");
    }
    if (model.qk_norm == spec::QkNorm::head) {
      out.rotated(ours + "query_norm.weight", theirs + "self_attn.q_norm.weight");
      out.rotated(ours + "key_norm.weight", theirs + "self_attn.k_norm.weight");
    }
    out.same(ours + "out.weight", theirs + "self_attn.o_proj.weight");
    out.same(ours + "mlp_norm.weight", theirs + "post_attention_layernorm.weight");
    if (model.moe.n_experts > 0) {
      lay_out_experts(out, model, family, ours, theirs);
      continue;
    }
    for (const auto* name : {"gate", "up", "down"}) {
      out.same(ours + name + ".weight", theirs + "mlp." + name + "_proj.weight");
    }
  }
  out.same("final_norm.weight", "model.norm.weight");
  if (!model.tied_embedding) out.same("unembedding", "lm_head.weight");
}

Json gpt2_config(const spec::ModelSpec& model) {
  const bool tanh = model.activation == spec::Activation::gelu_tanh;
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", model.vocab_size},
          {"n_positions", model.max_seq_len},
          {"n_embd", model.d_model},
          {"n_layer", model.layers},
          {"n_head", model.n_heads},
          {"n_inner", model.d_ff},
          {"activation_function", tanh ? "gelu_new" : (model.activation == spec::Activation::gelu ? "gelu" : "relu")},
          {"layer_norm_epsilon", model.norm_eps},
          {"tie_word_embeddings", model.tied_embedding}};
}

Json rotated_config(const spec::ModelSpec& model, Family family) {
  struct Named {
    Family family;
    const char* architecture;
    const char* type;
  };
  constexpr Named kNames[] = {{Family::llama, "LlamaForCausalLM", "llama"},
                              {Family::qwen2, "Qwen2ForCausalLM", "qwen2"},
                              {Family::qwen3, "Qwen3ForCausalLM", "qwen3"},
                              {Family::mixtral, "MixtralForCausalLM", "mixtral"},
                              {Family::qwen3_moe, "Qwen3MoeForCausalLM", "qwen3_moe"}};
  const auto& named = *std::find_if(std::begin(kNames), std::end(kNames),
                                    [family](const Named& each) { return each.family == family; });
  Json config{{"architectures", {named.architecture}},
              {"model_type", named.type},
              {"vocab_size", model.vocab_size},
              {"max_position_embeddings", model.max_seq_len},
              {"hidden_size", model.d_model},
              {"intermediate_size", model.d_ff},
              {"num_hidden_layers", model.layers},
              {"num_attention_heads", model.n_heads},
              {"num_key_value_heads", model.n_kv_heads},
              {"head_dim", model.head_dim},
              {"hidden_act", "silu"},
              {"rms_norm_eps", model.norm_eps},
              {"rope_theta", model.position.rope_theta},
              {"tie_word_embeddings", model.tied_embedding}};
  if (model.position.rope_scaling == spec::RopeScaling::llama3) {
    const auto& p = model.position;
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", p.rope_factor},
                              {"low_freq_factor", p.rope_low_freq_factor},
                              {"high_freq_factor", p.rope_high_freq_factor},
                              {"original_max_position_embeddings", p.rope_original_context}};
  }
  if (model.moe.n_experts == 0) return config;
  const bool mixtral = family == Family::mixtral;
  config[mixtral ? "num_local_experts" : "num_experts"] = model.moe.n_experts;
  config["num_experts_per_tok"] = model.moe.top_k;
  config[mixtral ? "intermediate_size" : "moe_intermediate_size"] = model.moe.d_ff;
  if (!mixtral) config["norm_topk_prob"] = true;  // the probabilities of the chosen experts sum to 1
  return config;
}

}  // namespace

std::int64_t WeightBlock::place(std::int64_t row) const {
  if (paired_rows == 0) return row;
  const std::int64_t within = row % paired_rows;
  return row - within + within / 2 + within % 2 * (paired_rows / 2);
}

WeightLayout weight_layout(const spec::ModelSpec& model) {
  const Family family = family_of(model);
  Layout tensors(model);
  if (family == Family::gpt2) {
    lay_out_gpt2(tensors, model);
    if (!model.tied_embedding) tensors.same("unembedding", "lm_head.weight");
  } else {
    lay_out_rotated(tensors, model, family);
  }
  WeightLayout out{.tensors = tensors.take(), .config_json = {}, .ignored = {}};
  out.config_json = (family == Family::gpt2 ? gpt2_config(model) : rotated_config(model, family)).dump(2) + "\n";
  if (model.tied_embedding) out.ignored.push_back("lm_head.weight");
  for (std::int64_t i = 0; i < model.layers; ++i) {  // masks and frequencies that older files contain
    const std::string layer = std::to_string(i);
    for (const auto* mask : {".attn.bias", ".attn.masked_bias"}) {
      out.ignored.push_back("transformer.h." + layer + mask);
    }
    out.ignored.push_back("model.layers." + layer + ".self_attn.rotary_emb.inv_freq");
  }
  return out;
}

}  // namespace perfbench::engine
