// Converts JSON text to a tree and back, for text that other programs may have written or damaged. Include in .cpp
// files only: it pulls in the JSON library.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace perfbench::spec {

using Json = nlohmann::json;

// Throws NotJson, with line and column, for text that is not JSON. Throws SpecError with an empty pointer for a key
// given twice in one object (the library would silently keep one), for nesting beyond kJsonMaxDepth (code that walks
// trees would overflow its stack) and for more than kJsonMaxValues values (which would take gigabytes of memory). Takes
// time in proportion to the text.
Json parse_json(std::string_view text);

inline constexpr int kJsonMaxDepth = 64;
inline constexpr std::int64_t kJsonMaxValues = 2'000'000;

// For text that perfbench itself wrote and checked, in half the time: duplicate keys and deep nesting are not checked.
// Throws NotJson.
Json parse_own_json(std::string_view text);

// One line. Bytes that are not UTF-8 (in a path, or in another program's message) become U+FFFD: a slightly damaged
// record is better than no record.
std::string json_line(const Json& json);

}  // namespace perfbench::spec
