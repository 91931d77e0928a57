// Broken matrices and the message for each: tests/harness/bad_matrices/expected.txt. PERFBENCH_APPROVE=1 in the
// environment rewrites that file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = PERFBENCH_SOURCE_DIR "/tests/harness/bad_matrices";

// Messages of the catalog contain its folder.
std::string without_source_folder(std::string text) {
  const std::string folder = PERFBENCH_SOURCE_DIR "/";
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

std::string message_of(const fs::path& path) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  try {
    expand(YamlDocument::parse(read_text(path), "matrix", path.filename()), catalog, {});
  } catch (const InputError& e) {
    return without_source_folder(e.what());
  }
  return "no error";
}

TEST(BadMatrices, EachGivesItsMessage) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  }
  std::string found;
  for (const auto& file : files) found += message_of(file) + "\n";
  if (std::getenv("PERFBENCH_APPROVE") != nullptr) std::ofstream(kFolder / "expected.txt") << found;
  EXPECT_EQ(found, read_text(kFolder / "expected.txt"));
}

TEST(BadMatrices, EveryMessageNamesItsFileAndAPosition) {
  std::istringstream lines(read_text(kFolder / "expected.txt"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line.starts_with("[matrix] ")) << line;
    EXPECT_NE(line.find(".yaml:"), std::string::npos) << line;
  }
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace perfbench::harness
