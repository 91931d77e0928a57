#include "harness/app/attempt_folder.h"

#include <fmt/core.h>

#include <vector>

#include "harness/evidence/run_directory.h"
#include "harness/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;

fs::path attempt_folder(const fs::path& named, const std::string& command) {
  const auto folder = fs::absolute(named).lexically_normal();
  std::error_code none;
  if (fs::is_regular_file(folder / kAttemptFile, none)) return folder;
  auto attempts = list_attempts(folder.parent_path(), folder.filename().string());
  std::erase_if(attempts,
                [&none](const auto& attempt) { return !fs::is_regular_file(attempt.path / kAttemptFile, none); });
  if (attempts.empty()) {
    throw InputError(
        fmt::format("[{}] {}: no {} in it: name the folder of an attempt (RUNS/<run>/001) or of a run "
                    "(RUNS/<run>)",
                    command, named.string(), kAttemptFile));
  }
  return attempts.back().path;
}

}  // namespace perfbench::harness
