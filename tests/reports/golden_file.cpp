#include "tests/reports/golden_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/harness/example_run.h"

namespace perfbench::reports {

void expect_golden(const std::string& name, const std::string& actual) {
  const auto file = std::filesystem::path(PERFBENCH_SOURCE_DIR) / "tests/reports/golden" / name;
  const char* approve = std::getenv("PERFBENCH_APPROVE");
  if (approve != nullptr && std::string(approve) == "1") {
    harness::write_text(file, actual);
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing; ./ci/test.sh --approve writes it";
  EXPECT_EQ(actual, harness::read_text(file))
      << "if this change of " << file << " is wanted, run ./ci/test.sh --approve";
}

}  // namespace perfbench::reports
