#include "harness/matrix/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/system/input_error.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

using spec::FlopDefinition;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PublishedCatalog& catalog() {
  static const PublishedCatalog kCatalog(PERFBENCH_SOURCE_DIR);
  return kCatalog;
}

std::vector<PublishedEntry> all_rows() {
  std::vector<PublishedEntry> out;
  for (const auto& system : catalog().systems()) {
    for (auto& entry : catalog().rows(system)) out.push_back(std::move(entry));
  }
  return out;
}

// A rate keeps six significant digits and a percentage four; both are also rounded from the source's digits.
void expect_percent(std::optional<double> fraction, double percent, const std::string& name) {
  ASSERT_TRUE(fraction) << name;
  const double half_of_last_digit = percent >= 100 ? 0.05 : 0.005;
  EXPECT_NEAR(100 * *fraction, percent, half_of_last_digit * 1.01) << name;
}

// The golden file was computed from the sources by an independent program.
TEST(Published, GivesTheThroughputAndMfuThatAnIndependentProgramComputed) {
  std::ifstream file(std::string(PERFBENCH_SOURCE_DIR) + "/tests/golden/published_implied.json");
  auto golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden.size(), 366U);
  for (const auto& entry : all_rows()) {
    const auto found = golden.find(entry.name);
    if (found == golden.end()) {
      EXPECT_FALSE(tokens_per_s_per_device(entry)) << entry.name;
      continue;
    }
    const auto tokens = tokens_per_s_per_device(entry);
    ASSERT_TRUE(tokens) << entry.name;
    const double wanted = (*found)["tokens_per_sec_per_gpu"];
    EXPECT_NEAR(*tokens / wanted, 1.0, 5.1e-6) << entry.name;
    if (found->contains("mfu_causal_pct")) {
      expect_percent(mfu_fraction(entry, FlopDefinition::causal), (*found)["mfu_causal_pct"], entry.name);
      expect_percent(mfu_fraction(entry, FlopDefinition::palm), (*found)["mfu_palm_pct"], entry.name);
      expect_percent(mfu_fraction(entry, FlopDefinition::six_n_total), (*found)["mfu_6N_total_pct"], entry.name);
    } else {
      EXPECT_EQ(mfu_fraction(entry, FlopDefinition::causal).has_value(), entry.row.lora.used()) << entry.name;
    }
    golden.erase(found);
  }
  EXPECT_THAT(golden, IsEmpty()) << "rows that no file holds any more";
}

TEST(Published, HoldsEveryRowOnceWithASource) {
  const auto rows = all_rows();
  EXPECT_EQ(rows.size(), 423U);
  std::set<std::string> names;
  for (const auto& entry : rows) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    EXPECT_FALSE(entry.row.model_name.empty()) << entry.name;
  }
}

TEST(Published, KnowsTheMaxTextRowOfTheReferenceTable) {
  const auto entry = catalog().row("published:maxtext/llama2-7b-8xh100");
  EXPECT_EQ(entry.name, "maxtext/llama2-7b-8xh100");
  EXPECT_EQ(entry.row.step_time_s, 0.721);
  EXPECT_EQ(entry.row.sequences_per_s, 22.19);
  EXPECT_EQ(entry.row.remat, "minimal_flash");
  EXPECT_EQ(entry.row.fsdp, 8);
  EXPECT_EQ(entry.model->name, "maxtext-llama2-7b");
  EXPECT_EQ(entry.hardware->name, "h100");
  EXPECT_THAT(contradictions(entry), IsEmpty());
}

// The complete list: a new contradiction is a mistake in our copy, or a discovery.
TEST(Published, FindsTheRowsThatContradictThemselves) {
  std::set<std::string> found;
  for (const auto& entry : all_rows()) {
    if (contradictions(entry).empty()) continue;
    found.insert(entry.name);
    EXPECT_FALSE(entry.row.flags.empty()) << entry.name << " has no flag: " << contradictions(entry).front();
  }
  EXPECT_THAT(found, ElementsAre("llm.c/gpt3-125m", "maxtext/v5p-2048-1024b"));
}

PublishedEntry consistent_row() {
  return catalog().row("maxtext/llama2-7b-8xh100");
}

TEST(Published, FlagsAStepTimeThatDoesNotFitTheRate) {
  auto entry = consistent_row();
  entry.row.step_time_s = 0.9;
  EXPECT_THAT(contradictions(entry), ElementsAre(HasSubstr("gives a batch of 19.97, but the row says 16")));
}

TEST(Published, FlagsAMeshThatDoesNotFitTheDevices) {
  auto entry = consistent_row();
  entry.row.tp = 2;
  EXPECT_THAT(contradictions(entry), ElementsAre(HasSubstr("is 16, but the row says 8 devices")));
}

TEST(Published, FlagsABatchPerDeviceAboveTheGlobalBatch) {
  auto entry = consistent_row();
  entry.row.batch_per_device = 4;
  EXPECT_THAT(contradictions(entry), ElementsAre(HasSubstr("are 32, but the row's global batch is 16")));
  entry.row.batch_per_device = 1;  // two microbatches
  EXPECT_THAT(contradictions(entry), IsEmpty());
}

TEST(Published, FlagsAThroughputAboveThePeak) {
  auto entry = consistent_row();
  entry.row.step_time_s = 0.3;
  entry.row.sequences_per_s = 16 / 0.3;
  // 49.24 % x 0.721 / 0.3
  EXPECT_THAT(contradictions(entry), ElementsAre(HasSubstr("118 % of the peak of NVIDIA H100")));
}

TEST(Published, DerivesStepTimeAndRateFromEachOther) {
  auto entry = consistent_row();
  entry.row.step_time_s = 0;
  entry.row.sequences_per_s = 20;
  EXPECT_DOUBLE_EQ(*step_time_s(entry), 0.8);
  EXPECT_DOUBLE_EQ(*tokens_per_s_per_device(entry), 20.0 * 4096 / 8);
  entry.row.sequences_per_s = 0;
  EXPECT_FALSE(tokens_per_s_per_device(entry));
  EXPECT_FALSE(step_time_s(entry));
  entry.row.step_time_s = 0.8;
  EXPECT_DOUBLE_EQ(*sequences_per_s(entry), 20.0);
}

// collect_results.py of llm-foundry truncates tokens and TFLOP/s to integers and rounds MFU to hundredths of a percent.
// Its peaks are Composer's: for an H100, 1.979e15 in fp8 and half of that in bf16.
TEST(Published, LlmFoundrysDefinitionGivesTheMfuAndFlopsThatItsRowsState) {
  std::size_t stated = 0;
  for (const auto& entry : catalog().rows("llm-foundry")) {
    const auto& row = entry.row;
    if (row.stated_mfu_fraction == 0 || !entry.model) continue;
    EXPECT_EQ(row.stated_definition, "llm_foundry") << entry.name;
    ++stated;
    const double h100 = row.precision == spec::Precision::fp8 ? 1979e12 : 989.5e12;
    const double peak = row.hardware == "h100" ? h100 : 312e12;
    const double flops_per_token = spec::flops_per_token(FlopDefinition::llm_foundry, *entry.model, row.seq_len);
    const double least = row.tokens_per_s_per_device * flops_per_token;
    const double most = (row.tokens_per_s_per_device + 1) * flops_per_token;
    EXPECT_GE(row.stated_mfu_fraction, least / peak - 0.5e-4) << entry.name;
    EXPECT_LE(row.stated_mfu_fraction, most / peak + 0.5e-4) << entry.name;
    if (row.stated_flops_per_s_per_device == 0) continue;
    EXPECT_GE(row.stated_flops_per_s_per_device, least - 1e12) << entry.name;
    EXPECT_LE(row.stated_flops_per_s_per_device, most) << entry.name;
  }
  EXPECT_GT(stated, 90U);
}

// 4 Nm + 6 N_lora + attention, computed by the same independent program.
TEST(Published, GivesMfuOfLoraByItsOwnDefinition) {
  for (const auto& [name, percent] : {std::pair{"pax/llama2-7b-lora-tebf16-bs2", 49.29},
                                      {"pax/llama2-7b-lora-tebf16-bs1", 43.67},
                                      {"pax/llama2-7b-lora-bf16-bs2", 34.16}}) {
    expect_percent(mfu_fraction(catalog().row(name), FlopDefinition::causal), percent, name);
  }
}

TEST(Published, GivesNoMfuIfTheTrainedWeightsAreUnknown) {
  auto lora = catalog().row("pax/llama2-7b-lora-bf16-bs2");
  lora.row.lora = {};
  EXPECT_FALSE(mfu_fraction(lora, FlopDefinition::causal));
  EXPECT_FALSE(mfu_fraction(catalog().row("pax/llama2-7b-zeroshot"), FlopDefinition::causal));
  EXPECT_TRUE(mfu_fraction(catalog().row("pax/llama2-7b-sft-bf16"), FlopDefinition::causal));
}

std::string comparison_error_of(const std::string& name) {
  try {
    catalog().row(name);
  } catch (const spec::SpecError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Published, SuggestsTheNearestRowAndSystem) {
  EXPECT_THAT(comparison_error_of("published:maxtext/llama2-7b-8xh200"),
              HasSubstr("did you mean 'maxtext/llama2-7b-8xh100'?"));
  EXPECT_THAT(comparison_error_of("published:maxtxt/a"), HasSubstr("did you mean 'maxtext'?"));
  EXPECT_THAT(comparison_error_of("published:nothing"), HasSubstr("axlearn, fms-fsdp, "));
  EXPECT_THAT(comparison_error_of("published:seqax"),
              AllOf(HasSubstr("use published:SYSTEM/ID; seqax has:\n  seqax/"), HasSubstr(", seqax/")));
}

class BrokenPublishedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "broken_published";
    std::filesystem::create_directories(folder_ / "workloads" / "published");
    for (const char* part : {"models", "hardware"}) {
      std::error_code ignored;
      std::filesystem::create_directory_symlink(std::filesystem::path(PERFBENCH_SOURCE_DIR) / "workloads" / part,
                                                folder_ / "workloads" / part, ignored);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string error_of_file(const std::string& tables) {
    std::ofstream(folder_ / "workloads" / "published" / "x.yaml") << "system: x\ntitle: X\n" << tables;
    try {
      PublishedCatalog(folder_).rows("x");
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(BrokenPublishedFile, IsReportedWithItsPlace) {
  const std::string head = "tables:\n  - source: s\n    rows:\n      - ";
  EXPECT_EQ(error_of_file(head + "{id: a}\n"), "no error");
  EXPECT_THAT(error_of_file(head + "{id: a, stpe_time_s: 1}\n"), HasSubstr("x.yaml:6:17 unknown key 'stpe_time_s'"));
  EXPECT_THAT(error_of_file(head + "{id: a}\n      - {id: a}\n"), HasSubstr("x.yaml:7:9 the id 'a' is given twice"));
  EXPECT_THAT(error_of_file(head + "{id: a, model: lama2-7b}\n"), HasSubstr("did you mean 'llama2-7b'?"));
  EXPECT_THAT(error_of_file(head + "{id: a, hardware: abacus}\n"), HasSubstr("unknown hardware 'abacus'"));
  EXPECT_THAT(error_of_file(head + "{id: a, stated_definition: mine}\n"), HasSubstr("unknown FLOP definition"));
  EXPECT_THAT(error_of_file("tables:\n  - rows: []\n"), HasSubstr("x.yaml:4:5 the key 'source' is missing"));
  EXPECT_THAT(error_of_file("tables: 3\n"), HasSubstr("'tables' must be a list"));
  EXPECT_THAT(error_of_file("tables: [{source: s, shared: 3, rows: []}]\n"), HasSubstr("mapping of keys"));
  EXPECT_THAT(error_of_file(head + "{model_name: a}\n"), HasSubstr("a row needs an id"));
}

}  // namespace
}  // namespace perfbench::harness
