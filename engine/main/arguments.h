// What commands read from their arguments, and the run.json that these name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Throws UsageError for what is no whole number of at least `minimum`.
std::int64_t number_argument(const std::string& option, const std::string& text, std::int64_t minimum);

// Throws BadInput with file and pointer for what is no run, EngineError (infeasible) for what no engine can train yet.
spec::RunSpec load_run(const std::filesystem::path& file);

}  // namespace perfbench::engine
