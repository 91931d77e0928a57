// The nights of each series as charts.
#pragma once

#include <cstddef>
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
std::string series_chart_key(const harness::ScreenedSeries& series);

// The result of the screen after each night: the score of the shift that fits best (harness/stats/screen.h), and the
// threshold of the newest night if the score exceeds it.
Chart score_chart(const harness::ScreenedSeries& series);

// The last point of that chart; nullopt if there are too few nights.
std::optional<double> shift_score(const harness::ScreenedSeries& series);

// The answer of the screen about the newest night.
Tone series_tone(const harness::ScreenedSeries& series);

// The screen found a shift, or the alert about a known one is live.
bool has_shifted(const harness::ScreenedSeries& series);

// The series to draw, at most `most`: those with a new shift first, the bad ones before others, then those
// with a known one.
std::vector<const harness::ScreenedSeries*> drawn_series(const harness::HistoryResult& result, std::size_t most);

}  // namespace perfbench::reports
