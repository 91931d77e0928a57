// Small charts of the nights of many series, with common axes, so that a reader sees which of them moved.
#pragma once

#include <vector>

#include "harness/judge/screening.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A chart for each of these, in their order. A night's value is shown as its percent change from the level of the
// series before its shift or, without a shift, before its newest night (log_level_before in harness/judge/screening.h).
// So the last point of a series that did not shift is the change in the table.
//
// All charts have the same days along x, and the same percentages along y. Nights that are far out do not count for
// the range: they lie more than three times the distance of the quartiles, plus 1 %, outside of the quartiles (Tukey's
// outer fences) of the nights before the shift, or of those since. The range reaches at least from -2 % to 2 %, and at
// most from -25 % to 25 % before it is rounded up to a whole tick. A night beyond it is an arrow.
SmallCharts history_small_charts(const std::vector<const harness::ScreenedSeries*>& drawn);

}  // namespace perfbench::reports
