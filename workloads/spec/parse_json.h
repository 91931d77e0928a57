// JSON text to a tree, for files that others may have written or damaged. Include in .cpp files only: it pulls in the
// JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace perfbench::spec {

// Throws SpecError with an empty pointer, its message with line and column, for what is not JSON, for a key given twice
// in one object (the library would keep one in silence) and for nesting beyond kJsonMaxDepth (which would end in a
// stack overflow where trees are walked).
nlohmann::json parse_json(std::string_view text);

inline constexpr int kJsonMaxDepth = 64;

}  // namespace perfbench::spec
