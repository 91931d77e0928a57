// How speed goes with size: charts of a report's rows.
#pragma once

#include <vector>

#include "harness/app/runs/stored_tables.h"
#include "reports/content/columns.h"
#include "reports/content/report_model.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Step time and MFU against the number of devices, the sequences of a step, the sequence length and the parameters of
// the model: for each of these of which rows that are otherwise alike have several values. A line for each set of such
// rows; published ones apart. Beside step times against devices what perfect scaling of the smallest would be: of a
// step's work that stays the same, a time by the devices; of a device's, the same time.
std::vector<Chart> scaling_charts(const std::vector<ReportRow>& rows);

// Reports as a document.
// For people a table for each, for programs one with the rows of all. Not empty.
//
// The table of style `table` has the reference systems' columns, beside the step time how many runs it is the median of
// and how far they are apart, the days of a training where any row says how long it is, and a column for every field of
// the runs by which rows differ that would look alike. JSON: {"title", "mfu_definition", "baseline", "rows"}, with the
// columns of `table` and the details under their keys.
Document report_document(const std::vector<Report>& reports, TableStyle style);
Document report_document(const std::vector<harness::StoredTable>& tables, TableStyle style = TableStyle::table);

}  // namespace perfbench::reports
