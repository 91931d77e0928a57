// Parses the arguments of commands, and the run.json that these name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Throws UsageError if `text` is not a whole number of at least `minimum`.
std::int64_t number_argument(const std::string& option, const std::string& text, std::int64_t minimum);

// Throws BadInput with file and pointer if the file is not a valid run, EngineError (infeasible) if no engine can train
// it yet.
spec::RunSpec load_run(const std::filesystem::path& file);

}  // namespace perfbench::engine
