// Reports as a document.
#pragma once

#include <vector>

#include "harness/app/stored_tables.h"
#include "reports/columns.h"
#include "reports/document/document.h"
#include "reports/report_model.h"

namespace perfbench::reports {

// For people a table for each, for programs one with the rows of all. Not empty.
//
// The table of style `table` has the reference systems' columns, beside the step time how many runs it is the median of
// and how far they are apart, the days of a training where any row says how long it is, and a column for every field of
// the runs by which rows differ that would look alike. JSON: {"title", "mfu_definition", "baseline", "rows"}, with the
// columns of `table` and the details under their keys.
Document report_document(const std::vector<Report>& reports, TableStyle style);
Document report_document(const std::vector<harness::StoredTable>& tables, TableStyle style = TableStyle::table);

}  // namespace perfbench::reports
