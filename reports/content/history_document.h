// The nights of each series, drawn.
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

// Its nights, those whose machine was noisy apart; dashed what the screen was given where that is less the control's
// drift; shaded the nights since it shifted, and those on which the machine's facts changed.
Chart series_chart(const harness::ScreenedSeries& series, const std::string& metric);

// What the screen found in its nights up to each: the score of the shift that fits best (harness/stats/screen.h), and
// the threshold of the newest night where that was beyond it.
Chart score_chart(const harness::ScreenedSeries& series);

// The last point of that; nothing of too few nights.
std::optional<double> shift_score(const harness::ScreenedSeries& series);

// One for each series, what shifted first, at most so many; of those that shifted, and of the first few, the scores
// too.
std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most);

// The nights of each series: a row each, then what was found.
// JSON: {"metric", "series", "findings"}, with every night; the document holds the result for it.
Document history_document(const std::shared_ptr<const harness::HistoryResult>& result);

}  // namespace perfbench::reports
