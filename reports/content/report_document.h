// The tables and charts of a report.
#pragma once

#include <vector>

#include "harness/app/runs/stored_tables.h"
#include "reports/content/columns.h"
#include "reports/content/report_model.h"
#include "reports/content/row_choice.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Reports as a document.
// For people a table for each report, for programs one table with all rows. `reports` must not be empty.
//
// The table of style `table` has the reference systems' columns. Beside the step time it shows the number of runs and
// their spread; where a row says how long the training is, the days that it takes; and a column for every field that
// distinguishes rows which would otherwise look the same. JSON: {"title", "mfu_definition", "baseline", "rows"}, with
// the columns of `table` and the details under their keys.
//
// `choice` selects and sorts the rows of each table, and may replace the columns of the style. Throws InputError for a
// column that the report does not have.
Document report_document(std::vector<Report> reports, TableStyle style, const RowChoice& choice = {});
Document report_document(const std::vector<harness::StoredTable>& tables, TableStyle style = TableStyle::table,
                         const RowChoice& choice = {});

}  // namespace perfbench::reports
