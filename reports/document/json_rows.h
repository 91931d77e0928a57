// The rows of a table for JSON that says more than they do. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/document/document.h"

namespace perfbench::reports {

// An array of objects, by the keys of the columns for programs; null for what is not known.
nlohmann::ordered_json json_rows(const Table& table);

}  // namespace perfbench::reports
