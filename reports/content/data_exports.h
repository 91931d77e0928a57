// The numbers of a database for monitoring systems and trackers of experiments.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/store/database.h"
#include "harness/store/queries/query.h"

namespace perfbench::reports {

// The media type of open_metrics().
inline constexpr const char* kOpenMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// OpenMetrics 1.0 text for Prometheus and others. It has the newest values only: of the newest sweep of each matrix
// that measured it as a whole, and in it of each cell on each machine, the medians over the runs that ended ok. Only
// metrics of the catalog are exported. A cell that the newest sweep lacks is not, so that its series ends. Values have
// no timestamps: they count as those of the time at which they are read, and perfbench_cell_measured_timestamp_seconds
// says when they were measured.
std::string open_metrics(const harness::Connection& db);

// One JSON object a line for each attempt of the selection, with all of its metrics. `write` gets whole lines.
void write_run_lines(const harness::Connection& db, const harness::Selection& selection,
                     const std::function<void(std::string_view)>& write);

}  // namespace perfbench::reports
