// Where the run directory of a stored attempt lies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// RUNS/<run>/<number> of the attempt with that key, if the attempt.json there is the one that was taken in, bit by bit;
// nothing where there is none, or another attempt's.
std::optional<std::filesystem::path> evidence_place(const Connection& db, std::int64_t attempt_key,
                                                    const std::filesystem::path& runs);

}  // namespace perfbench::harness
