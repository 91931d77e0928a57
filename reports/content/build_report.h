// Makes a report from stored attempts and comparisons.
#pragma once

#include "harness/app/runs/stored_tables.h"
#include "reports/content/report_model.h"

namespace perfbench::reports {

Report build_report(const harness::StoredTable& table);

}  // namespace perfbench::reports
