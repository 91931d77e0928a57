// Matrices with random mistakes: whatever they contain, the result is cells or an InputError. The seed is fixed, so
// that a failure can be repeated; tests/fuzz searches further, guided by coverage.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <random>
#include <set>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

constexpr int kInputs = 800;

std::vector<std::string> matrices_of(const std::string& folder) {
  std::set<fs::path> files;  // sorted, because the order of a folder is not fixed
  for (const auto& entry : fs::directory_iterator(fs::path(PERFBENCH_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  }
  std::vector<std::string> out;
  for (const auto& file : files) out.push_back(read_text(file));
  return out;
}

class Mutator {
 public:
  // Makes one to three changes.
  std::string mutate(std::string text) {
    const auto changes = 1 + random_() % 3;
    for (std::size_t i = 0; i < changes; ++i) change(text);
    return text;
  }

  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  const char* word() {
    static constexpr std::array kWords{"0",
                                       "-1",
                                       "1e999",
                                       "9223372036854775808",
                                       "0.5",
                                       "1/3",
                                       "1/0",
                                       "null",
                                       "~",
                                       "true",
                                       "''",
                                       "\"",
                                       "[]",
                                       "{}",
                                       "[[[[",
                                       "{a: {b: {c: ",
                                       "*",
                                       "!x",
                                       "&a",
                                       "*a",
                                       "<<: *a",
                                       "---\n",
                                       "\t",
                                       "\n",
                                       ": ",
                                       "- ",
                                       ", ",
                                       "#",
                                       "fsdp",
                                       "dcn_dp",
                                       "model",
                                       "model.layers",
                                       "remat_custom",
                                       "remat_custom.x",
                                       "batch_per_device",
                                       "devices",
                                       "repeats",
                                       "set",
                                       "name",
                                       "when",
                                       "require",
                                       "fsdp / 0 < 1",
                                       "(((",
                                       "%",
                                       "\xff\xfe",
                                       "\xc3\x28",
                                       "1000000",
                                       "mesh.ici",
                                       "hardware",
                                       "../../etc/passwd"};
    return kWords[below(kWords.size())];
  }

 private:
  void change(std::string& text) {
    if (text.empty()) text = "name: x";
    const auto at = below(text.size());
    switch (below(6)) {
      case 0:
        text.insert(at, word());
        break;
      case 1:
        text.erase(at, 1 + below(12));
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        replace_token(text, at);
        break;
      case 4:
        text.insert(below(text.size()), text.substr(at, below(80)));
        break;
      default:
        erase_line(text, at);
    }
  }

  void replace_token(std::string& text, std::size_t at) {
    static constexpr const char* kSeparators = " ,:{}[]\n";
    const auto begin = text.find_last_of(kSeparators, at);
    const auto start = begin == std::string::npos ? 0 : begin + 1;
    const auto end = std::min(text.find_first_of(kSeparators, at), text.size());
    if (end >= start) text.replace(start, end - start, word());
  }

  static void erase_line(std::string& text, std::size_t at) {
    const auto begin = text.rfind('\n', at);
    const auto start = begin == std::string::npos ? 0 : begin;
    const auto end = std::min(text.find('\n', at + 1), text.size());
    text.erase(start, end - start);
  }

  std::mt19937_64 random_{20260131};
};

TEST(MatrixFuzz, MistakesEndInAnInputErrorOrInCells) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto sound = matrices_of("matrices");
  const auto broken = matrices_of("tests/harness/bad_matrices");
  Mutator mutator;
  int accepted = 0;
  for (int i = 0; i < kInputs; ++i) {
    const auto& seeds = mutator.below(4) == 0 ? broken : sound;
    const auto text = mutator.mutate(seeds[mutator.below(seeds.size())]);
    Overrides overrides;
    if (mutator.below(4) == 0) overrides.only.push_back(std::string("fsdp=") + mutator.word());
    if (mutator.below(4) == 0) overrides.set.push_back(std::string("steps=") + mutator.word());
    if (mutator.below(8) == 0) overrides.set.push_back(std::string(mutator.word()) + "=" + mutator.word());
    try {
      const auto expansion = expand(YamlDocument::parse(text, "matrix", "fuzz.yaml"), catalog, overrides);
      EXPECT_FALSE(expansion.cells.empty());
      ++accepted;
    } catch (const InputError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("[")) << e.what();
    } catch (const std::exception& e) {
      FAIL() << "input " << i << ": " << e.what() << "\n" << text;
    }
  }
  // Both results occurred: the mistakes are neither all fatal nor all harmless.
  EXPECT_GT(accepted, kInputs / 50);
  EXPECT_LT(accepted, kInputs * 9 / 10);
}

}  // namespace
}  // namespace perfbench::harness
