// Charts of a report's rows.
#pragma once

#include <vector>

#include "reports/content/report_model.h"
#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// Step time and MFU against the number of devices, the sequences of a step, the sequence length and the parameters of
// the model: one chart for each of these that has several values among rows that are otherwise equal. Each set of such
// rows is a line; published rows have lines of their own. Charts of step time against devices also show perfect scaling
// from the smallest number of devices: if the step's work stays the same, the time is divided by the devices; if a
// device's work stays the same, so does the time.
std::vector<Chart> scaling_charts(const std::vector<ReportRow>& rows);

// Tokens/s/device against the memory of a device, a series for each model. Cells that no other cell of the model beats
// in both are named. No chart for fewer than three cells.
std::vector<Chart> memory_charts(const std::vector<ReportRow>& rows);

}  // namespace perfbench::reports
