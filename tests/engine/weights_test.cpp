// Weights from safetensors and back. The files are written here byte by byte; a rule gives the values by name and place
// of each. transformers computed the results of models with these values (tests/golden/weights.py), so a wrong name,
// order or transposition gives another loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/restore.h"
#include "engine/core/error.h"
#include "engine/weights/convert.h"
#include "engine/weights/layout.h"
#include "tests/engine/scratch_folder.h"
#include "tests/engine/training.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kVocabulary = 61;
constexpr std::int64_t kTokens = 12;
constexpr std::int64_t kRows = 2;

// In [-1, 1), as hashed() of tests/golden/weights.py.
double hashed(std::uint32_t index, std::uint32_t seed) {
  std::uint32_t x = (index + 1) * 2654435761U + seed * 40503U;
  x ^= x >> 15;
  x *= 2246822519U;
  x ^= x >> 13;
  return x / 0x1p31 - 1.0;
}

std::vector<float> values_of(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::uint32_t seed = 0;
  for (const char c : name) seed += static_cast<unsigned char>(c);
  std::int64_t count = 1;
  for (const auto dim : shape) count *= dim;
  const bool is_norm = shape.size() == 1 && name.ends_with("weight");
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double drawn = 0.25 * hashed(static_cast<std::uint32_t>(i), seed);
    values[i] = static_cast<float>(is_norm ? 1.0 + drawn : drawn);
  }
  return values;
}

// A tensor as stored in a file.
struct Written {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Written f32(const std::string& name, const std::vector<std::int64_t>& shape) {
  return {name, "F32", shape, bytes_of(values_of(name, shape))};
}

void write_file(const fs::path& file, const std::vector<Written>& tensors) {
  std::string header;
  std::string data;
  for (const auto& tensor : tensors) {
    std::string shape;
    for (const auto dim : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" +
              shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  header += "}";
  const std::uint64_t length = header.size();
  std::ofstream(file, std::ios::binary) << std::string(reinterpret_cast<const char*>(&length), 8) << header << data;
}

spec::ModelSpec llama() {
  return {.name = "llama",
          .layers = 2,
          .d_model = 24,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 8,
          .d_ff = 40,
          .vocab_size = kVocabulary,
          .max_seq_len = 32};
}

spec::ModelSpec gpt2() {
  auto model = llama();
  model.name = "gpt2";
  model.d_model = 32;
  model.n_kv_heads = 4;
  model.d_ff = 48;
  model.norm = spec::NormKind::layernorm;
  model.activation = spec::Activation::gelu_tanh;
  model.bias = spec::BiasKind::all;
  model.tied_embedding = true;
  model.position.kind = spec::PositionKind::learned;
  return model;
}

spec::ModelSpec llama3() {
  auto model = llama();
  model.tied_embedding = true;
  model.position.rope_theta = 500;
  model.position.rope_scaling = spec::RopeScaling::llama3;
  model.position.rope_original_context = 16;
  return model;
}

spec::ModelSpec qwen2() {
  auto model = llama();
  model.bias = spec::BiasKind::qkv;
  return model;
}

spec::ModelSpec qwen3() {
  auto model = llama();
  model.qk_norm = spec::QkNorm::head;
  return model;
}

spec::ModelSpec with_experts(spec::ModelSpec model) {
  model.moe = {.n_experts = 4,
               .top_k = 2,
               .d_ff = 40,
               .activation = spec::Activation::swiglu,
               .routing = spec::MoeRouting::topk_softmax};
  return model;
}

// The same tokens as transformers got.
class HashedTokens final : public TokenSource {
 public:
  TokenCounts read(const BatchPlace&, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t t = 0; t < kTokens; ++t) {
        tokens[row * kTokens + t] = token(row * (kTokens + 1) + t);
        targets[row * kTokens + t] = token(row * (kTokens + 1) + t + 1);
      }
    }
    return {.targets = kRows * kTokens};
  }

 private:
  static std::int32_t token(std::size_t index) {
    return static_cast<std::int32_t>((hashed(static_cast<std::uint32_t>(index), 7) + 1.0) / 2.0 * kVocabulary);
  }
};

class Weights : public testing::Test {
 protected:
  std::vector<Written> tensors_of(const spec::ModelSpec& model) const {
    std::vector<Written> out;
    for (const auto& tensor : weight_layout(model).tensors) out.push_back(f32(tensor.name, tensor.shape));
    return out;
  }
  fs::path file_of(const spec::ModelSpec& model) {
    const auto file = scratch_ / "model.safetensors";
    write_file(file, tensors_of(model));
    return file;
  }
  fs::path imported(const spec::ModelSpec& model, const fs::path& file) {
    const auto folder = scratch_ / ("imported" + std::to_string(++imports_));
    import_weights(file, model, folder);
    return folder;
  }
  double loss(const spec::ModelSpec& model, const fs::path& checkpoint) {
    spec::RunSpec run;
    run.model = model;
    run.seq_len = kTokens;
    run.global_batch = kRows;
    run.checkpoint.restore = checkpoint.string();
    TrainingRun training(run, first_weights(run), make_single_collectives(),
                         [](const spec::RunSpec&) { return std::make_unique<HashedTokens>(); });
    EXPECT_EQ(restore_checkpoint(training.context(), training.run(), training.trainer().parameters(),
                                 training.trainer().fp8()),
              0);
    return training.step().loss;
  }
  std::string refusal(const spec::ModelSpec& model, const std::vector<Written>& tensors) {
    write_file(scratch_ / "model.safetensors", tensors);
    try {
      import_weights(scratch_.path(), model, scratch_ / "refused");
    } catch (const BadInput& e) {
      EXPECT_FALSE(fs::exists(scratch_ / "refused" / "step_00000000"));
      return e.what();
    }
    return "";
  }

  ScratchFolder scratch_;
  int imports_ = 0;
};

TEST_F(Weights, EachFamilyComputesTheResultsOfTransformers) {
  const std::vector<std::pair<spec::ModelSpec, double>> families{
      {gpt2(), 4.505041631},
      {llama(), 4.376924562},
      {llama3(), 4.415506680},
      {qwen2(), 4.371988991},
      {qwen3(), 4.298681802},
      {with_experts(llama()), 4.260733234},
      {with_experts(qwen3()), 4.299839817},
  };
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto& [model, expected] = families[i];
    const double found = loss(model, imported(model, file_of(model)));
    EXPECT_NEAR(found, expected, expected * kSumsInOtherOrder) << "family " << i;
  }
}

// Shows the sensitivity of the tolerance: two layers that differ only in their order.
TEST_F(Weights, EveryTensorInItsPlaceAffectsTheLoss) {
  auto tensors = tensors_of(llama());
  std::swap(tensors[3].bytes, tensors[12].bytes);  // key_proj of both layers
  ASSERT_EQ(tensors[3].name, "model.layers.0.self_attn.k_proj.weight");
  ASSERT_EQ(tensors[12].name, "model.layers.1.self_attn.k_proj.weight");
  write_file(scratch_ / "model.safetensors", tensors);
  EXPECT_GT(std::abs(loss(llama(), imported(llama(), scratch_.path())) - 4.376924562), 10 * 4.4 * kSumsInOtherOrder);
}

TEST_F(Weights, RotatedInPairsOfNeighboursAreTheSameModel) {
  for (auto model : {llama(), qwen2(), qwen3()}) {
    const auto file = file_of(model);
    const double halves = loss(model, imported(model, file));
    model.position.rope_layout = spec::RopeLayout::interleaved;
    EXPECT_NEAR(loss(model, imported(model, file)), halves, halves * kSumsInOtherOrder);
  }
}

TEST_F(Weights, ComeBackAsTheyWere) {
  int exports = 0;
  auto interleaved = qwen2();
  interleaved.position.rope_layout = spec::RopeLayout::interleaved;
  for (const auto& model : {gpt2(), interleaved, qwen3(), with_experts(llama())}) {
    const auto tensors = tensors_of(model);
    const auto folder = scratch_ / ("exported" + std::to_string(++exports));
    export_weights(imported(model, file_of(model)), folder, WeightType::f32);
    const Safetensors exported(folder);
    EXPECT_EQ(exported.entries().size(), tensors.size());
    for (const auto& tensor : tensors) {
      EXPECT_EQ(exported.entries().at(tensor.name).shape, tensor.shape) << tensor.name;
      EXPECT_EQ(bytes_of(exported.read(tensor.name)), tensor.bytes) << tensor.name;
    }
    std::ifstream config(folder / "config.json");
    const std::string text((std::istreambuf_iterator<char>(config)), {});
    EXPECT_THAT(text, HasSubstr("\"vocab_size\": 61"));
  }
}

// Beside the index of another model the written file would never be read; beside its tokenizer it would get the wrong
// one.
TEST_F(Weights, AreNotWrittenBesideOtherFiles) {
  const auto checkpoint = imported(llama(), file_of(llama()));
  const auto weights = scratch_ / "model.safetensors";
  for (const auto* stands : {"model.safetensors.index.json", "tokenizer.json", "step_00000007"}) {
    const auto folder = scratch_ / "used";
    std::filesystem::create_directory(folder);
    std::ofstream(folder / stands) << "{}";
    for (const auto& write :
         std::vector<std::function<void()>>{[&] { export_weights(checkpoint, folder, WeightType::f32); },
                                            [&] { import_weights(weights, llama(), folder); }}) {
      try {
        write();
        ADD_FAILURE() << "written beside " << stands;
      } catch (const BadInput& e) {
        EXPECT_THAT(e.what(), HasSubstr(std::string("must be empty, but contains ") + stands));
      }
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << stands;
    std::filesystem::remove_all(folder);
  }
  // Leftovers of a killed attempt are removed.
  std::filesystem::create_directories(scratch_ / "again/step_00000000.partial");
  import_weights(weights, llama(), scratch_ / "again");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "again/step_00000000.partial"));
  std::filesystem::create_directory(scratch_ / "empty");
  std::ofstream(scratch_ / "empty/model.safetensors.partial") << "cut";
  export_weights(checkpoint, scratch_ / "empty", WeightType::f32);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "empty"), {}), 2);
}

TEST_F(Weights, InBf16AreRoundedToNearest) {
  export_weights(imported(llama(), file_of(llama())), scratch_ / "exported", WeightType::bf16);
  const Safetensors exported(scratch_ / "exported");
  const auto found = exported.read("model.norm.weight");
  const auto exact = values_of("model.norm.weight", {24});
  bool differs = false;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(std::abs(found[i] - exact[i]), 0x1p-8F * std::abs(exact[i])) << i;  // half of 2^-7
    differs = differs || found[i] != exact[i];
  }
  EXPECT_TRUE(differs);
}

TEST_F(Weights, TwoByteTypesAreReadExactly) {
  // IEEE 754 binary16 and bfloat16 of 1, -2, 0.1 rounded, the smallest subnormal, infinity.
  write_file(scratch_ / "model.safetensors",
             {{"half", "F16", {5}, bytes_of(std::vector<std::uint16_t>{0x3C00, 0xC000, 0x2E66, 0x0001, 0x7C00})},
              {"brain", "BF16", {3}, bytes_of(std::vector<std::uint16_t>{0x3F80, 0xC000, 0x3DCD})}});
  const Safetensors file(scratch_.path());
  EXPECT_THAT(file.read("half"), testing::ElementsAre(1.0F, -2.0F, 0.0999755859375F, 0x1p-24F, INFINITY));
  EXPECT_THAT(file.read("brain"), testing::ElementsAre(1.0F, -2.0F, 0.10009765625F));
}

TEST_F(Weights, MayBeSplitIntoFilesAndHaveNoPrefix) {
  auto tensors = tensors_of(llama());
  for (auto& tensor : tensors) {
    if (tensor.name.starts_with("model.")) tensor.name = tensor.name.substr(6);
  }
  const auto middle = tensors.begin() + 7;
  write_file(scratch_ / "a.safetensors", {tensors.begin(), middle});
  write_file(scratch_ / "b.safetensors", {middle, tensors.end()});
  std::string map;
  for (auto it = tensors.begin(); it != tensors.end(); ++it) {
    map += (map.empty() ? "\"" : ",\"") + it->name + "\":\"" + (it < middle ? "a" : "b") + ".safetensors\"";
  }
  std::ofstream(scratch_ / "model.safetensors.index.json") << "{\"metadata\":{},\"weight_map\":{" << map << "}}";
  EXPECT_NEAR(loss(llama(), imported(llama(), scratch_.path())), 4.376924562, 4.4 * kSumsInOtherOrder);
}

// Masks and buffers, which are not weights, have types that weights do not have.
TEST_F(Weights, MayHaveIgnoredTensorsOfAnyTypeBesideThem) {
  auto tensors = tensors_of(gpt2());
  for (const auto& name : weight_layout(gpt2()).ignored) tensors.push_back({name, "BOOL", {1, 1, 2, 2}, "\1\0\1\1"});
  EXPECT_EQ(refusal(gpt2(), tensors), "");
}

TEST_F(Weights, AnotherModelsTensorsAreRefusedByName) {
  auto tensors = tensors_of(llama());
  auto lacking = tensors;
  lacking.erase(lacking.begin() + 4);
  EXPECT_THAT(refusal(llama(), lacking), HasSubstr("has no tensor model.layers.0.self_attn.v_proj.weight"));
  auto wider = llama();
  wider.d_ff = 44;
  EXPECT_THAT(refusal(wider, tensors),
              HasSubstr("has model.layers.0.mlp.gate_proj.weight [40, 24], but the model has [44, 24]"));
  EXPECT_THAT(refusal(llama(), tensors_of(qwen2())), HasSubstr("k_proj.bias [16], which is not a tensor of the model"));
  auto glam = llama();
  glam.position.kind = spec::PositionKind::t5_relative_bias;
  EXPECT_THAT(refusal(glam, tensors), AllOf(HasSubstr("no known implementation in transformers"), HasSubstr("T5's")));
  const auto folder = imported(llama(), file_of(llama()));
  EXPECT_THROW(import_weights(scratch_ / "model.safetensors", llama(), folder), BadInput);
}

// Properties that shapes do not show: each key that contradicts the model is named with both values.
TEST_F(Weights, AnotherModelsConfigurationIsRefused) {
  const auto refusal_with = [&](const spec::ModelSpec& model, const std::function<void(spec::Json&)>& change) {
    auto config = spec::Json::parse(weight_layout(model).config_json);
    change(config);
    std::ofstream(scratch_ / "config.json") << config.dump();
    auto refused = refusal(model, tensors_of(model));
    fs::remove_all(scratch_ / "refused");
    return refused;
  };
  const auto with = [](const char* key, const spec::Json& value) {
    return [=](spec::Json& config) { config[key] = value; };
  };
  const auto without = [](const char* key) { return [=](spec::Json& config) { config.erase(key); }; };
  for (const auto& model :
       {llama(), llama3(), gpt2(), qwen2(), qwen3(), with_experts(llama()), with_experts(qwen3())}) {
    EXPECT_EQ(refusal_with(model, [](spec::Json&) {}), "") << model.name;
  }
  EXPECT_THAT(refusal_with(llama3(), with("rope_theta", 1e4)),
              HasSubstr("has rope_theta 10000.0, but the model has 500.0"));
  EXPECT_THAT(refusal_with(llama3(), with("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}})),
              HasSubstr("has rope_scaling {\"factor\":4.0,\"rope_type\":\"yarn\"}, but the model has {\"factor\":"));
  EXPECT_THAT(refusal_with(llama3(), without("rope_scaling")), HasSubstr("has rope_scaling null, but the model has {"));
  EXPECT_THAT(refusal_with(llama(), with("num_attention_heads", 8)),
              HasSubstr("has num_attention_heads 8, but the model has 4"));
  EXPECT_THAT(refusal_with(llama(), with("rms_norm_eps", 0.01)), HasSubstr("has rms_norm_eps 0.01, but the model has"));
  EXPECT_THAT(refusal_with(llama(), with("hidden_act", "gelu")),
              HasSubstr("has hidden_act \"gelu\", but the model has \"silu\""));
  EXPECT_THAT(refusal_with(llama(), with("sliding_window", 8)),
              HasSubstr("has sliding_window 8, which the engine does not"));
  EXPECT_EQ(refusal_with(llama(), with("sliding_window", 4096)), "") << "longer than the model's sequences";
  EXPECT_EQ(refusal_with(qwen2(), with("sliding_window", 8)), "") << "without use_sliding_window";
  EXPECT_THAT(refusal_with(with_experts(qwen3()), with("norm_topk_prob", false)),
              HasSubstr("has norm_topk_prob false, but the model has true"));
  EXPECT_THAT(refusal_with(with_experts(qwen3()), without("norm_topk_prob")), HasSubstr("has norm_topk_prob false"))
      << "transformers' own default";
  EXPECT_THAT(refusal_with(gpt2(), with("activation_function", "relu")), HasSubstr("but the model has \"gelu_new\""));
  EXPECT_EQ(refusal_with(gpt2(), with("activation_function", "gelu_pytorch_tanh")), "");
  EXPECT_THAT(refusal_with(llama(), with("model_type", "gemma")),
              HasSubstr("has model_type \"gemma\", but the model has \"llama\""));
  EXPECT_THAT(refusal_with(llama(), with("final_logit_softcapping", 30.0)),
              HasSubstr("which the engine does not compute"));
  EXPECT_THAT(refusal_with(llama(), with("layer_types", {"full_attention", "sliding_attention"})),
              HasSubstr("has layer_types \"sliding_attention\", which"));
  EXPECT_EQ(refusal_with(llama(),
                         [](spec::Json& config) {
                           config["rope_parameters"] = {{"rope_theta", config["rope_theta"]}, {"rope_type", "default"}};
                           config.erase("rope_theta");
                         }),
            "")
      << "as transformers write it from version 5 on";
  std::ofstream(scratch_ / "config.json") << "{";
  EXPECT_THAT(refusal(llama(), tensors_of(llama())), HasSubstr("config.json is not a configuration: not JSON"));
}

TEST_F(Weights, DamagedFilesAreRefused) {
  const auto file = file_of(llama());
  const auto size = fs::file_size(file);
  const auto trouble = [&] {
    try {
      import_weights(file, llama(), scratch_ / "refused");
    } catch (const BadInput& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  fs::resize_file(file, size - 1);
  EXPECT_THAT(trouble(), HasSubstr("is cut off"));
  std::ofstream(file, std::ios::binary) << "{\"weights\": 1}";
  EXPECT_THAT(trouble(), HasSubstr("it is not a safetensors file"));
  auto integers = tensors_of(llama());
  integers.front().dtype = "I32";
  EXPECT_THAT(refusal(llama(), integers), HasSubstr("as I32; weights are F32"));
  EXPECT_THAT(refusal(llama(), {{"w", "F32", {3}, std::string(8, '\0')}}),
              HasSubstr("with a size in bytes that does not match its shape"));
  EXPECT_THAT(refusal(llama(), {{"w", "F32", {-3}, ""}}), HasSubstr("impossible shape"));
  fs::remove(file);
  EXPECT_THAT(trouble(), HasSubstr("is missing"));
}

}  // namespace
}  // namespace perfbench::engine
