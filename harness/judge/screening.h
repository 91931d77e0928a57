// The nightly screen over series: which cells shifted, and whether the machine explains it. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/finding.h"
#include "harness/records/series.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {

enum class ChangeOf {
  machine_class,  // what ran before and after is not one series
  other_facts,    // of one class (harness/evidence/environment_rows.h): the series goes on
};

// The machine's facts changed from one night of a series to the next.
struct MachineChange {
  NightId night;  // the first on other facts
  ChangeOf of = ChangeOf::machine_class;
  std::vector<spec::FieldDifference> facts;
};
// "another class of machine: cpu_model a -> b", "other facts of one class of machine: kernel 6.1 -> 6.5".
std::string change_text(const MachineChange& change);
// "libraries.oneDNN 2.6 -> 3.1": those that both say and that differ. Empty: none.
std::string library_changes(const std::map<std::string, std::string>& before,
                            const std::map<std::string, std::string>& after);

enum class ScreenState { steady, shifted, too_few_nights };

// A night as the screen was given it.
struct ScreenedNight {
  std::size_t night = 0;  // index into the series' nights
  double log = 0;         // of its value, less the control's drift where that was subtracted
  double leveled = 0;     // the same, moved to the level since the newest known shift (harness/stats/screen.h)
};

// A shift that needs no screen any more: pairs confirmed it, or a person accepted it.
struct KnownShift {
  SeriesId series;
  std::string first_utc;    // start of its first night
  bool of_machine = false;  // every speed on that machine shifted with it
  bool live = false;        // nobody closed its alert yet
  std::string told = {};    // "regression +3.1 %, alert 1a2b3c4d5e6f open"
};

// One series on one class of machine, up to the newest night. The segment is all nights on that class.
struct ScreenedSeries {
  bool is_control = false;
  SeriesId series;
  std::vector<NightPoint> nights;      // the segment, oldest first
  std::vector<MachineChange> changes;  // of the whole series, oldest first
  double change_ratio = 1;             // last night over the median of up to 40 nights before it
  std::vector<ScreenedNight> screened;
  bool control = false;  // the control was subtracted from them
  ScreenState state = ScreenState::steady;
  std::optional<ScreenFinding> shift;
  std::optional<Finding> finding;   // of the shift, not confirmed: without an interval
  std::optional<KnownShift> known;  // the newest one among these nights, where its alert is live
};

// What is good for a metric decides whether a shift is an improvement; throws InputError for a metric without direction
// (metric catalog). Only what was measured in the newest night of its matrix is screened.
//
// The nights before a shift that is known are moved to the level since: the screen looks for what is new.
//
// Of the control's drift the share that the series has in common with it is subtracted from times and rates, when the
// control was measured with enough of the series' nights, the newest among them; a shift of the control itself, since
// its engine was the present one, is a finding of kind environment. Nights on which the probe moved
// during all runs are left out unless they are the greater part, or the newest. Those of the last fortnight are kept
// where only they show a shift, and are most of the nights since: what slows a cell may unsettle the probe too.
std::vector<ScreenedSeries> screen_series(const std::vector<SeriesHistory>& series,
                                          const std::vector<KnownShift>& known = {}, const ScreenRule& rule = {});

// A shift that the noise probe of the very runs made as well, at least half of it in the same direction, is the
// machine's: the kind becomes environment. `probe_s` by sweep id.
void weigh_against_probe(ScreenedSeries& screened, const std::map<std::string, double>& probe_s);

// Cells that were measured in one of the last `nights` nights of their matrix and not tonight. That a cell is not even
// in tonight's sweep means something beside nights of the same --only; that it is infeasible, beside nights on
// tonight's class of machine. The control is none: it is of whichever cell is the smallest that night, and a fixed
// engine that fails is nobody's regression.
std::vector<Finding> vanished_cells(const std::vector<SeriesHistory>& series, const Tonight& tonight,
                                    std::size_t nights = 7);

}  // namespace perfbench::harness
