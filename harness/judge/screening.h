// The nightly screen over series: which cells shifted, and whether the machine explains it. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/records/finding.h"
#include "harness/records/series.h"
#include "harness/stats/noise_change.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {

// A night screens these of each cell: speed with and without stalls, memory, start-up and loss. Rates follow from
// times.
struct ScreenedMetric {
  const char* tag;
  double share;  // of the false screens that one metric may have
};
// The median and the mean step are two views of one speed, and share the false screens of one metric. A stall that the
// mean alone shows is large, so that it can do with the smaller share.
inline constexpr std::array kScreenedMetrics{
    ScreenedMetric{"step_time_s", 0.75},    ScreenedMetric{"step_time_mean_s", 0.25},
    ScreenedMetric{"peak_memory_bytes", 1}, ScreenedMetric{"resident_bytes", 1},
    ScreenedMetric{"startup_time_s", 1},    ScreenedMetric{"final_loss", 1}};

// By matrix. The control, and a matrix that has no entry, are screened by the rule for a single cell.
using ScreenRules = std::map<std::string, ScreenRule>;
// For `metric`. All measured cells of a matrix share its budget, each with the metrics of kScreenedMetrics that have
// noise and those that its programs declare: neither --metric nor --series changes what a series has to show.
ScreenRules rules_within(const ScreenBudget& budget, const Tonight& tonight, const std::string& metric);

enum class ChangeOf {
  machine_class,  // the series ends here and a new one begins
  other_facts,    // same class (harness/evidence/environment_rows.h): the series continues
};

// A change of the machine's facts between two consecutive nights of a series.
struct MachineChange {
  NightId night;  // the first night with the new facts
  ChangeOf of = ChangeOf::machine_class;
  std::vector<spec::FieldDifference> facts;
};
// "another class of machine: cpu_model a -> b", "other facts of one class of machine: kernel 6.1 -> 6.5".
std::string change_text(const MachineChange& change);
// "libraries.oneDNN 2.6 -> 3.1": facts that both nights have and that differ. Empty: there are none.
std::string library_changes(const std::map<std::string, std::string>& before,
                            const std::map<std::string, std::string>& after);

enum class ScreenState { steady, shifted, too_few_nights };

// A night as the screen uses it.
struct ScreenedNight {
  std::size_t night = 0;  // index into the series' nights
  double log = 0;         // log of its value, minus the control's drift if that was subtracted
  double leveled = 0;     // the same, moved to the level since the newest known shift (harness/stats/screen.h)
};

// A shift that the screen can ignore: pairs confirmed it, or a user accepted it.
struct KnownShift {
  SeriesId series;
  std::string first_utc;    // start of its first night
  bool of_machine = false;  // all speeds on that machine shifted with it
  bool live = false;        // its alert is not closed yet
  std::string told = {};    // "regression +3.1 %, alert 1a2b3c4d5e6f open"
};

// One series on one class of machine, up to the newest night. Its segment consists of all nights on that class.
struct ScreenedSeries {
  bool is_control = false;
  SeriesId series;
  std::optional<spec::Direction> declared;  // SeriesHistory::declared
  std::vector<NightPoint> nights;           // the segment, oldest first
  std::vector<MachineChange> changes;       // over the whole series, oldest first
  double change_ratio = 1;                  // last night over the level before it (log_level_before)
  std::vector<ScreenedNight> screened;
  bool control = false;  // the control's drift was subtracted
  ScreenState state = ScreenState::steady;
  std::optional<ScreenFinding> shift;
  std::optional<Finding> finding;      // about the shift, not confirmed: without an interval
  std::optional<NightId> level_until;  // last night before a creep that continues tonight (harness/stats/creep.h)
  std::optional<NoiseChange> noisier;  // for metrics with noise: index into `screened`
  std::optional<KnownShift> known;     // the newest known shift among these nights, if its alert is live
};

// The level of a series before the night at this index: the median of the logs of up to 40 nights before it. Needs at
// least one such night.
double log_level_before(std::span<const NightPoint> nights, std::size_t index);

// The direction of the metric, by the metric catalog or as the program declares it, decides whether a shift is an
// improvement. Series without a direction are left out; throws InputError if none has one. Only series that were
// measured in the newest night of their matrix are screened.
//
// The nights before a known shift are moved to the present level: the screen looks for new shifts. A known shift of
// step_time_s is also known for step_time_mean_s.
//
// Times and rates are corrected for the share of the control's drift that the series has in common with it. This needs
// control measurements in enough of the series' nights, including the newest. A shift of the control itself, with its
// present engine, is a finding of kind environment.
//
// Nights on which the probe moved during all runs are left out, unless they are the majority or the newest. Such nights
// of the last fortnight are kept if only they show a shift and they are most of the nights since: a change that slows a
// cell may disturb the probe, too.
std::vector<ScreenedSeries> screen_series(const std::vector<SeriesHistory>& series,
                                          const std::vector<KnownShift>& known = {}, const ScreenRules& rules = {});

// One finding for all `series` that scatter more than before, about the series that changed most. Its ratio is that of
// the scatter. nullopt if none does.
std::optional<Finding> noisier_finding(const std::vector<ScreenedSeries>& series);

// If the noise probe of the same runs shifted as well, at least half as far and in the same direction, the machine is
// the cause: the kind becomes environment. `probe_s` is by sweep id.
void weigh_against_probe(ScreenedSeries& screened, const std::map<std::string, double>& probe_s);

// Cells that were measured in one of the last `nights` nights of their matrix, but not tonight. That a cell is missing
// in tonight's sweep counts only in comparison with nights of the same --only; that it is infeasible counts only in
// comparison with nights on tonight's class of machine. The control never counts: it uses the smallest cell of the
// night, and a failure of its fixed engine is not a regression.
std::vector<Finding> vanished_cells(const std::vector<SeriesHistory>& series, const Tonight& tonight,
                                    std::size_t nights = 7);

}  // namespace perfbench::harness
