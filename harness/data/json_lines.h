// Files of JSON lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace perfbench::harness {

// An object, and how many bytes of the file it takes.
using TakeJsonLine = std::function<void(const nlohmann::json& line, std::int64_t bytes)>;

// In their order; empty lines are none. Throws InputError with file:line for a line that is no JSON object, and for a
// SpecError that `take` throws.
void for_each_json_line(const std::filesystem::path& file, const TakeJsonLine& take);

}  // namespace perfbench::harness
