// The nights of each series as charts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/night/history.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The nights of a series. Nights with a noisy machine are separate. A dashed line shows the values that the screen
// used, if they are corrected for the control's drift. The nights since a shift, and those on which the machine's facts
// changed, are shaded.
Chart series_chart(const harness::ScreenedSeries& series, const std::string& metric);

// The result of the screen after each night: the score of the shift that fits best (harness/stats/screen.h), and the
// threshold of the newest night if the score exceeds it.
Chart score_chart(const harness::ScreenedSeries& series);

// The last point of that chart; nullopt if there are too few nights.
std::optional<double> shift_score(const harness::ScreenedSeries& series);

// One chart for each series, those that shifted first, at most `most`. Series that shifted, and the first few, also get
// a chart of scores.
std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most);

// The nights of each series, one row each, then the findings. JSON: {"metric", "series", "findings"} with every night;
// the document keeps the result for it.
Document history_document(const std::shared_ptr<const harness::HistoryResult>& result);

}  // namespace perfbench::reports
