// The nights of each series, drawn.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/history/history.h"
#include "reports/chart/chart.h"

namespace perfbench::reports {

// Its nights, those whose machine was noisy apart, and shaded the nights since it shifted.
Chart series_chart(const harness::ScreenedSeries& series, const std::string& metric);

// One for each series, what shifted first, at most so many.
std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most);

}  // namespace perfbench::reports
