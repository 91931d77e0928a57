// How speed goes with size: charts of a report's rows.
#pragma once

#include <vector>

#include "reports/chart/chart.h"
#include "reports/report_model.h"

namespace perfbench::reports {

// Step time and MFU against the number of devices, the sequences of a step, the sequence length and the parameters of
// the model: for each of these of which rows that are otherwise alike have several values. A line for each set of such
// rows; published ones apart. Beside step times against devices what perfect scaling of the smallest would be: of a
// step's work that stays the same, a time by the devices; of a device's, the same time.
std::vector<Chart> scaling_charts(const std::vector<ReportRow>& rows);

}  // namespace perfbench::reports
