// What the nights of a store say about each cell: one value a night, machine and subject. A series goes on across
// subjects, because it shows what each night's engine did; a value is of one. A night is one sweep that was made as
// one (SweepsOf::history); sweeps by hand, pairs and reproductions are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/finding.h"
#include "harness/records/series.h"
#include "harness/records/subject.h"
#include "harness/store/queries/sweeps.h"
#include "harness/store/sqlite.h"
#include "harness/system/utc.h"

namespace perfbench::harness {

// A night that looks at itself.
struct NightSweeps {
  std::string sweep_id;
  std::string control_id;  // the sweep of its control; empty: none ran
};

// What is dated later than `now_utc`, by a wrong clock or an import, is in no answer (load_future_nights names it).
struct HistoryQuery {
  SweepsOf of = SweepsOf::history;         // what counts as a night
  std::string series = "*";                // GLOB over MATRIX/CELL; the control is always read
  std::optional<std::string> matrix = {};  // that one alone: its name, compared exactly
  std::string metric = "step_time_s";
  std::int64_t nights = 134;              // newest of each matrix: what the screen looks back (harness/stats/screen.h)
  std::optional<NightSweeps> night = {};  // tonight, with all nights before it; nothing: the newest of each matrix
  std::string now_utc = harness::utc_now();
};

// By matrix, cell and run. Values that are not above 0 are left out: they have no logarithm.
std::vector<SeriesHistory> load_history(const Connection& db, const HistoryQuery& query);

// Of the control nothing: it is of whichever cell is the smallest that night.
Tonight load_tonight(const Connection& db, const HistoryQuery& query);

// Nights and controls that the query passes over because they are dated in the future, oldest first.
std::vector<NightId> load_future_nights(const Connection& db, const HistoryQuery& query);

// The control's first night at the commit of its newest one that says what it was, of those up to `until_utc`; nothing
// before its first night.
std::optional<NightId> first_night_of_control(const Connection& db, const std::string& until_utc);

// Keys of the sweeps that load_history reads: nights, and those of their control.
std::vector<std::int64_t> load_night_keys(const Connection& db, const HistoryQuery& query);

// Median noise probe of each night's runs, by sweep id: how fast the machine itself was.
std::map<std::string, double> load_probes(const Connection& db, const SeriesId& series);

}  // namespace perfbench::harness
