// JSON text to a tree and back, for text that others may have written or damaged. Include in .cpp files only: it pulls
// in the JSON library.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace perfbench::spec {

using Json = nlohmann::json;

// Throws NotJson, its message with line and column, for what is not JSON; SpecError with an empty pointer for a key
// given twice in one object (the library would keep one in silence), for nesting beyond kJsonMaxDepth (which would end
// in a stack overflow where trees are walked) and for more than kJsonMaxValues values (which would take gigabytes of
// memory). Takes time in proportion to the text.
Json parse_json(std::string_view text);

inline constexpr int kJsonMaxDepth = 64;
inline constexpr std::int64_t kJsonMaxValues = 2'000'000;

// For text that perfbench itself wrote and checked then, in half the time: keys given twice and deep nesting are not
// looked for. Throws NotJson.
Json parse_own_json(std::string_view text);

// One line. Bytes that are not UTF-8 (of a path, or of another program's message) become U+FFFD: a record that says
// something slightly damaged beats none.
std::string json_line(const Json& json);

}  // namespace perfbench::spec
