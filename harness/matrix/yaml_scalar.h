// The type of a YAML scalar that stands without quotes: a subset of YAML 1.2's core schema (chapter 10.3).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace perfbench::harness {

// null (~, null, empty), true/false, a decimal whole number without leading zeros, a decimal number, or else text.
// Throws std::invalid_argument, with a message for the user, for what looks like a number and cannot be held: .nan,
// .inf, whole numbers beyond 64 bits, decimals beyond double.
nlohmann::json core_schema_value(const std::string& plain);

}  // namespace perfbench::harness
