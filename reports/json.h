#pragma once

#include <string>

#include "reports/report_model.h"

namespace perfbench::reports {

// One object: title, definition, baseline, rows. A row has every column of the table and of the details under its key;
// a missing value is null.
std::string to_json(const Report& report);

}  // namespace perfbench::reports
