// A document as the script of a page reads it (reports/page/assets/page.js). Include in .cpp files only: it pulls in
// the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/render/document/document.h"

namespace perfbench::reports {

// {"title": the first heading, "blocks": [{"kind": ...}, ...]}. Texts are as a terminal may show them (shown()): what
// reorders or hides letters is written out.
nlohmann::ordered_json page_json(const Document& document);

}  // namespace perfbench::reports
