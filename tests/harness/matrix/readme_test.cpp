// The examples of docs/matrix.md are matrices that work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

// The blocks between "```yaml" and "```".
std::vector<std::string> yaml_blocks(const std::string& text) {
  static const std::string kOpen = "```yaml\n";
  std::vector<std::string> blocks;
  for (auto at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    const auto end = text.find("```", at);
    blocks.push_back(text.substr(at, end - at));
    at = end;
  }
  return blocks;
}

Expansion expand_example(const std::string& text, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  return expand(YamlDocument::parse(text, "matrix", PERFBENCH_SOURCE_DIR "/docs/matrix.md"), catalog, overrides);
}

struct Counts {
  std::string name;
  std::size_t cells = 0;
  std::size_t excluded = 0;
  std::size_t infeasible = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.name << " " << counts.cells << " " << counts.excluded << " " << counts.infeasible;
}

TEST(MatrixReadme, EveryExampleExpandsToTheCellsItDescribes) {
  std::vector<Counts> found;
  for (const auto& block : yaml_blocks(read_text(PERFBENCH_SOURCE_DIR "/docs/matrix.md"))) {
    const auto expansion = expand_example(block);
    Counts counts{expansion.name, expansion.cells.size()};
    for (const auto& cell : expansion.cells) {
      counts.excluded += cell.excluded ? 1 : 0;
      counts.infeasible += cell.infeasible && !cell.excluded ? 1 : 0;
    }
    EXPECT_THAT(expansion.notices, testing::IsEmpty()) << expansion.name;
    found.push_back(counts);
  }
  // rules: 18 cells; fsdp=4 with dot_product excludes 3, of the rest fsdp*dp = 16 with flash 1.
  EXPECT_THAT(found,
              testing::ElementsAre(Counts{"first", 4}, Counts{"named-values", 4}, Counts{"zipped", 6},
                                   Counts{"sizes", 4}, Counts{"rules", 18, 4}, Counts{"contradiction", 3, 0, 1}));
}

}  // namespace
}  // namespace perfbench::harness
