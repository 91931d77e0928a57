#include "engine/weights/config_check.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLargestConfigBytes = 10'000'000;
constexpr const char* kTypeKey = "model_type";

// A key about what shapes do not show, with the value that transformers uses if it is absent (configuration_llama.py
// and its like, version 4.45). An empty default means that shapes or other keys decide.
struct ComparedKey {
  const char* type;  // the models that have it; empty: all
  const char* name;
  const char* absent;  // the value if absent, as JSON
};
constexpr std::array kCompared{ComparedKey{"gpt2", "n_head", "12"},
                               ComparedKey{"gpt2", "activation_function", "\"gelu_new\""},
                               ComparedKey{"gpt2", "layer_norm_epsilon", "1e-5"},
                               ComparedKey{"gpt2", "tie_word_embeddings", "true"},
                               ComparedKey{"", "num_attention_heads", ""},
                               ComparedKey{"", "num_key_value_heads", ""},
                               ComparedKey{"", "head_dim", ""},
                               ComparedKey{"", "hidden_act", "\"silu\""},
                               ComparedKey{"mixtral", "rms_norm_eps", "1e-5"},
                               ComparedKey{"", "rms_norm_eps", "1e-6"},
                               ComparedKey{"mixtral", "rope_theta", "1e6"},
                               ComparedKey{"", "rope_theta", "10000.0"},
                               ComparedKey{"", "rope_scaling", "null"},
                               ComparedKey{"", "tie_word_embeddings", "false"},
                               ComparedKey{"mixtral", "num_experts_per_tok", "2"},
                               ComparedKey{"qwen3_moe", "num_experts_per_tok", "8"},
                               ComparedKey{"qwen3_moe", "norm_topk_prob", "false"}};

// Keys of other models, with the value at which they change nothing.
constexpr std::array<std::pair<const char*, const char*>, 16> kNeutral{{{"partial_rotary_factor", "1.0"},
                                                                        {"attn_logit_softcapping", "null"},
                                                                        {"final_logit_softcapping", "null"},
                                                                        {"query_pre_attn_scalar", "null"},
                                                                        {"embedding_multiplier", "1.0"},
                                                                        {"residual_multiplier", "1.0"},
                                                                        {"attention_multiplier", "null"},
                                                                        {"logits_scaling", "1.0"},
                                                                        {"logit_scale", "null"},
                                                                        {"clip_qkv", "null"},
                                                                        {"attention_chunk_size", "null"},
                                                                        {"no_rope_layers", "null"},
                                                                        {"routed_scaling_factor", "1.0"},
                                                                        {"alibi", "false"},
                                                                        {"scale_attn_weights", "true"},
                                                                        {"scale_attn_by_inverse_layer_idx", "false"}}};

class ConfigCheck {
 public:
  ConfigCheck(fs::path file, spec::Json theirs, spec::Json ours)
      : file_(std::move(file)), theirs_(std::move(theirs)), ours_(std::move(ours)) {
    if (!theirs_.is_object()) refuse("is not a mapping");
    take_rope_parameters();
    theirs_["rope_scaling"] = scaling(value(theirs_, "rope_scaling"));
    if (const auto heads = value(theirs_, "num_attention_heads"); heads.is_number_integer()) {
      if (value(theirs_, "num_key_value_heads").is_null()) theirs_["num_key_value_heads"] = heads;
      const auto width = value(theirs_, "hidden_size");
      if (width.is_number_integer() && heads > 0 && value(theirs_, "head_dim").is_null()) {
        theirs_["head_dim"] = width.get<std::int64_t>() / heads.get<std::int64_t>();
      }
    }
  }

  void check_type() const {
    const auto theirs = value(theirs_, kTypeKey);
    // Mistral's models are Llama's with a sliding window.
    const bool is_same =
        theirs.is_null() || theirs == ours_.at(kTypeKey) || (theirs == "mistral" && ours_.at(kTypeKey) == "llama");
    if (!is_same) contradict(kTypeKey, theirs, ours_.at(kTypeKey));
  }

  void check_compared() const {
    std::string_view last;
    for (const auto& key : kCompared) {
      const bool is_of_type = *key.type == '\0' ? ours_.at(kTypeKey) != "gpt2" : ours_.at(kTypeKey) == key.type;
      if (!is_of_type || last == key.name) continue;
      last = key.name;  // the line of a type precedes the line for all types
      const auto absent = *key.absent == '\0' ? spec::Json() : spec::Json::parse(key.absent);
      const auto ours = ours_.value(key.name, absent);
      auto theirs = value(theirs_, key.name);
      if (theirs.is_null()) theirs = absent;
      if (theirs.is_null() && *key.absent == '\0') continue;
      if (same_function(theirs) != same_function(ours)) contradict(key.name, theirs, ours);
    }
  }

  void check_neutral() const {
    for (const auto& [name, neutral] : kNeutral) {
      const auto theirs = value(theirs_, name);
      if (!theirs.is_null() && theirs != spec::Json::parse(neutral)) unknown(name, theirs);
    }
    const auto layers = value(theirs_, "layer_types");
    for (const auto& layer : layers) {
      if (layer != "full_attention") unknown("layer_types", layer);
    }
  }

  void check_window(std::int64_t max_seq_len) const {
    const auto window = value(theirs_, "sliding_window");
    // Qwen's configurations name a window that is used only if another key enables it.
    const bool is_qwen = ours_.at(kTypeKey).get<std::string>().starts_with("qwen");
    if (is_qwen && !theirs_.value("use_sliding_window", false)) return;
    if (window.is_number() && window < max_seq_len) unknown("sliding_window", window);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw BadInput("weights: " + file_.string() + " " + what); }
  [[noreturn]] void contradict(const std::string& key, const spec::Json& theirs, const spec::Json& ours) const {
    refuse("has " + key + " " + spec::json_line(theirs) + ", but the model has " + spec::json_line(ours));
  }
  [[noreturn]] void unknown(const std::string& key, const spec::Json& theirs) const {
    refuse("has " + key + " " + spec::json_line(theirs) + ", which the engine does not compute");
  }

  static spec::Json value(const spec::Json& config, const char* key) {
    const auto found = config.find(key);
    return found == config.end() ? spec::Json() : *found;
  }

  // Maps several names of one activation function to one name.
  static spec::Json same_function(const spec::Json& value) {
    if (value == "gelu_pytorch_tanh") return "gelu_new";
    if (value == "swish") return "silu";
    return value;
  }

  // From version 5 of transformers on, theta and scaling are in one mapping.
  void take_rope_parameters() {
    const auto parameters = value(theirs_, "rope_parameters");
    if (!parameters.is_object()) return;
    if (parameters.contains("rope_theta")) theirs_["rope_theta"] = parameters["rope_theta"];
    auto rest = parameters;
    rest.erase("rope_theta");
    theirs_["rope_scaling"] = rest;
  }

  // Removes names without effect: "type" is an older name of "rope_type", and the type "default" means no scaling.
  static spec::Json scaling(spec::Json theirs) {
    if (!theirs.is_object()) return theirs;
    if (theirs.contains("type") && !theirs.contains("rope_type")) theirs["rope_type"] = theirs["type"];
    theirs.erase("type");
    return value(theirs, "rope_type") == "default" ? spec::Json() : theirs;
  }

  fs::path file_;
  spec::Json theirs_;
  spec::Json ours_;
};

spec::Json parsed(const fs::path& file, const std::string& text) {
  try {
    return spec::parse_json(text);
  } catch (const spec::SpecError& e) {
    throw BadInput("weights: " + file.string() + " is not a configuration: " + e.what());
  }
}

std::optional<std::string> text_of(const fs::path& file) {
  try {
    return spec::read_regular_file(file, kLargestConfigBytes);
  } catch (const spec::FileError& e) {
    throw BadInput(std::string("weights: ") + e.what());
  }
}

}  // namespace

void check_config(const fs::path& weights, const std::string& ours, std::int64_t max_seq_len) {
  const auto file = (fs::is_directory(weights) ? weights : fs::absolute(weights).parent_path()) / "config.json";
  const auto text = text_of(file);
  if (!text) return;
  try {
    const ConfigCheck check(file, parsed(file, *text), spec::parse_own_json(ours));
    check.check_type();
    check.check_compared();
    check.check_neutral();
    check.check_window(max_seq_len);
  } catch (const spec::Json::exception& e) {
    throw BadInput("weights: " + file.string() + " is not the configuration of a model: " + e.what());
  }
}

}  // namespace perfbench::engine
