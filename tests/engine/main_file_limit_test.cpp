// A limit on the size of files (ulimit -f), whose signal would end the engine without a message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST(FileLimit, IsAnErrorOfTheWriteThatNamesTheFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("main_file_limit_test." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "run.json") << spec::canonical_json(gpt_tiny());
  // 1024 bytes, because LLVM's OpenMP registers itself in a file of that size before main. ThreadSanitizer makes a
  // larger file there, unless the folder does not exist.
  const auto lines =
      lines_of_program({"/bin/sh", "-c", "ulimit -f 2; TEST_TMPDIR=\"$1/none\" exec \"$0\" run --dir \"$1\"",
                        PERFBENCH_ENGINE_FILE, folder.string()});
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(folder.string()), HasSubstr("File too large"))));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace perfbench::engine
