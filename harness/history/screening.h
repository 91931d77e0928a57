// The nightly screen over series: which cells shifted, and whether the machine explains it. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/alerts/alert.h"
#include "harness/detect/screen.h"
#include "harness/history/series.h"

namespace perfbench::harness {

// The machine's facts changed: what ran before and after is not one series.
struct SegmentChange {
  AlertNight night;  // the first on other facts
  std::vector<spec::FieldDifference> facts;
};

enum class ScreenState { steady, shifted, too_few_nights };

// One series on one machine, up to the newest night. The segment is all nights with that machine's fingerprint.
struct ScreenedSeries {
  bool is_control = false;
  AlertSeries series;
  std::vector<NightPoint> nights;      // the segment, oldest first
  std::vector<SegmentChange> changes;  // of the whole series, oldest first
  double change_ratio = 1;             // last night over the median of up to 40 nights before it
  std::size_t screened = 0;            // nights that the screen was given
  bool control = false;                // the control was subtracted from them
  ScreenState state = ScreenState::steady;
  std::optional<ScreenFinding> shift;
  std::optional<AlertFinding> finding;  // of the shift, not confirmed: without an interval
};

// What is good for a metric decides whether a shift is an improvement; throws InputError for a metric without direction
// (metric catalog). Only what was measured in the newest night of its matrix is screened.
//
// The control's drift is subtracted from times and rates when it was measured with enough of the series' nights, the
// newest among them; a shift of the control itself is a finding of kind environment. Nights on which the probe moved
// during all runs are left out unless they are the greater part, or the newest.
std::vector<ScreenedSeries> screen_series(const std::vector<SeriesHistory>& series, const ScreenRule& rule = {});

// A shift that the noise probe of the very runs made as well, at least half of it in the same direction, is the
// machine's: the kind becomes environment. `probe_s` by sweep id.
void weigh_against_probe(ScreenedSeries& screened, const std::map<std::string, double>& probe_s);

// Cells that were measured in one of the last `nights` nights of their matrix and not tonight. That a cell is not even
// in tonight's sweep means something beside nights of the same --only. The control is none: it is of whichever cell is
// the smallest that night, and a fixed engine that fails is nobody's regression.
std::vector<AlertFinding> vanished_cells(const std::vector<SeriesHistory>& series, const Tonight& tonight,
                                         std::size_t nights = 7);

}  // namespace perfbench::harness
