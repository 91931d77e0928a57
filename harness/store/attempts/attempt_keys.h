// Attempts by the name that they have in every database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/records/attempt_name.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Its key; nothing where the database does not have it.
std::optional<std::int64_t> find_attempt(const Connection& db, const AttemptName& name);
// Throws InputError that names it, where the database does not have it.
std::int64_t attempt_key_of(const Connection& db, const AttemptName& name);

// Of the attempt with that key. Throws UnreadableRow (stored_row.h) where the database does not have it.
AttemptName attempt_name(const Connection& db, std::int64_t attempt_key);

}  // namespace perfbench::harness
