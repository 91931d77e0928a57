#pragma once

#include <string>

#include "reports/columns.h"
#include "reports/report_model.h"

namespace perfbench::reports {

// RFC 4180: the table's columns under their keys, raw values, then (style table) the details. A missing value is empty.
std::string to_csv(const Report& report, TableStyle style);

}  // namespace perfbench::reports
