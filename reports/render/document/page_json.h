// A document in the form that the script of a page reads (reports/page/assets/page.js). Include this in .cpp files
// only, because it needs the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/render/document/document.h"

namespace perfbench::reports {

// {"title": the first heading, "blocks": [{"kind": ...}, ...]}. Texts are escaped for a terminal (shown()): characters
// that reorder or hide letters are written as escapes.
nlohmann::ordered_json page_json(const Document& document);

}  // namespace perfbench::reports
