// Finds attempts by the name that is the same in every database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/records/attempt_name.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// The key of the attempt; nullopt if the database does not have it.
std::optional<std::int64_t> find_attempt(const Connection& db, const AttemptName& name);
// Throws InputError with the name if the database does not have the attempt.
std::int64_t attempt_key_of(const Connection& db, const AttemptName& name);

// The name of the attempt with that key. Throws UnreadableRow (stored_row.h) if the database does not have it.
AttemptName attempt_name(const Connection& db, std::int64_t attempt_key);

}  // namespace perfbench::harness
