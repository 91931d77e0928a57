// Which columns of a table somebody gets to see.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/document/document.h"

namespace perfbench::reports {

// The places of the columns for everyone and for `reader`.
std::vector<std::size_t> columns_for(const Table& table, Audience reader);

}  // namespace perfbench::reports
