#include "harness/matrix/model_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/system/input_error.h"
#include "workloads/spec/flops.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

using ::testing::HasSubstr;

const ModelCatalog& shipped_catalog() {
  static const ModelCatalog kCatalog(PERFBENCH_SOURCE_DIR);
  return kCatalog;
}

std::string model_error(const std::string& name) {
  try {
    shipped_catalog().model(name);
  } catch (const spec::SpecError& e) {
    return e.what();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

class EveryModelFile : public ::testing::TestWithParam<std::string> {};

// The stated figures were computed from the sources by an independent program and, for the large public models, also
// compared with their authors' figures.
TEST_P(EveryModelFile, HasTheStatedParametersAndFlops) {
  const auto file = shipped_catalog().model(GetParam());
  EXPECT_EQ(file.model.name, GetParam()) << "the file is named after the model";
  EXPECT_FALSE(file.source.empty());
  const auto counts = spec::count_parameters(file.model);
  EXPECT_EQ(counts.total, file.stated.parameters);
  EXPECT_EQ(counts.matmul_active, file.stated.matmul_parameters);
  // llm_foundry is stated for the models that llm-foundry publishes, the other figures for all models.
  const bool foundrys = GetParam().starts_with("mpt-");
  EXPECT_EQ(file.stated.flops_per_token.size(), foundrys ? 4U : 3U);
  for (const auto& [name, stated] : file.stated.flops_per_token) {
    const auto definition = spec::enum_value<spec::FlopDefinition>(name);
    ASSERT_TRUE(definition) << name;
    // Integers below 2^53 are exact in a double.
    EXPECT_EQ(spec::flops_per_token(*definition, file.model, file.stated.seq_len), static_cast<double>(stated)) << name;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& model) {
  std::string name = model.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, EveryModelFile, ::testing::ValuesIn(shipped_catalog().model_names()), test_name);

TEST(ModelCatalog, HoldsTheModelsOfTheReferenceSystemsAndATinyMemberOfEachFamily) {
  const auto names = shipped_catalog().model_names();
  EXPECT_GE(names.size(), 108U);
  for (const char* name :
       {"pax-gpt-126m", "pax-glam-64b-64e", "maxtext-llama2-7b", "axlearn-fuji-70B-v3", "torchprime-llama-3.1-405b",
        "seqax-84m",    "gpt-tiny",         "llama-tiny",        "llama31-tiny",        "qwen-tiny",
        "qwen3-tiny",   "moe-tiny",         "glam-tiny",         "gshard-tiny",         "llama-110m",
        "llama3.2-1b",  "qwen2.5-72b",      "qwen3-235b-a22b",   "gemma2-27b",          "gemma3-27b",
        "olmo2-32b"}) {
    EXPECT_THAT(names, ::testing::Contains(name));
  }
}

TEST(ModelCatalog, SuggestsTheNearestNameForAnUnknownModel) {
  EXPECT_THAT(model_error("lama-tiny"), HasSubstr("unknown model 'lama-tiny' (did you mean 'llama-tiny'?)"));
  EXPECT_THAT(model_error("../etc/passwd"), HasSubstr("there is no model file"));
}

TEST(ModelCatalog, LoadsAModelByItsPathAndPointsIntoItWhenItIsBroken) {
  const std::filesystem::path folder = ::testing::TempDir();
  const auto file = folder / "broken_model.yaml";
  std::ofstream(file) << "model:\n  name: broken\n  layers: 2\n  d_modle: 64\nsource: [a test]\n";
  EXPECT_THAT(model_error(file.string()),
              HasSubstr("broken_model.yaml:4:3 unknown key 'd_modle' (did you mean 'd_model'?)"));
  std::ofstream(file) << "model:\n  name: broken\n  layers: 2\nsource: [a test]\n";
  EXPECT_THAT(model_error(file.string()), HasSubstr("broken_model.yaml:1:1 the key 'd_model'"));
  std::ofstream(file) << "model: {name: b, layers: 1, d_model: 8, n_heads: 3, n_kv_heads: 2, head_dim: 4, d_ff: 8,\n"
                         "        vocab_size: 9, max_seq_len: 8}\nsource: [a test]\n";
  EXPECT_THAT(model_error(file.string()), HasSubstr("broken_model.yaml:1:53 n_heads 3 is not a multiple"));
  std::filesystem::remove(file);
}

TEST(ModelCatalog, FindsHardwareByNameAndByTheNamesThatPublishedTablesUse) {
  EXPECT_EQ(shipped_catalog().hardware("h100").name, "h100");
  EXPECT_EQ(shipped_catalog().hardware("H100 80G SXM").name, "h100");
  EXPECT_EQ(shipped_catalog().hardware("a100 80gb sxm").name, "a100-80g");
  EXPECT_EQ(shipped_catalog().hardware("TPU v5e").name, "tpu-v5e");
  EXPECT_THROW(shipped_catalog().hardware("h1000"), spec::SpecError);
}

// Dense bf16 peaks as the manufacturers publish them.
TEST(ModelCatalog, KnowsTheDensePeaks) {
  const std::pair<const char*, double> peaks[] = {{"a100-40g", 312e12},  {"a100-80g", 312e12}, {"h100", 989e12},
                                                  {"h100-pcie", 756e12}, {"h200", 989e12},     {"tpu-v4", 275e12},
                                                  {"tpu-v5e", 197e12},   {"tpu-v5p", 459e12},  {"tpu-v6e", 918e12}};
  EXPECT_EQ(shipped_catalog().hardware_names().size(), std::size(peaks));
  for (const auto& [name, peak] : peaks) {
    EXPECT_EQ(spec::mfu_peak_flops_per_s(shipped_catalog().hardware(name), spec::Precision::bf16), peak) << name;
  }
  EXPECT_EQ(spec::mfu_peak_flops_per_s(shipped_catalog().hardware("h100"), spec::Precision::fp8), 989e12)
      << "MFU of fp8 runs uses the bf16 peak";
}

TEST(ModelCatalog, EveryAliasMeansOneDevice) {
  std::set<std::string> seen;
  for (const auto& name : shipped_catalog().hardware_names()) {
    const auto hardware = shipped_catalog().hardware(name);
    EXPECT_EQ(hardware.name, name);
    EXPECT_TRUE(seen.insert(hardware.name).second) << hardware.name;
    for (const auto& alias : hardware.aliases) EXPECT_TRUE(seen.insert(alias).second) << alias;
  }
}

}  // namespace
}  // namespace perfbench::harness
