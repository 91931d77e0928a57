// The values of each cell over the nights of a store: one for each night, machine and subject. A series continues
// across subjects, because it shows the effect of each night's engine, but a single value belongs to one subject. A
// night is one sweep that was made as one (SweepsOf::history); sweeps by hand, pairs and reproductions do not count.
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

// The sweeps of the night that asks.
struct NightSweeps {
  std::string sweep_id;
  std::string control_id;  // the sweep of its control; empty: none ran
};

// Sweeps dated later than `now_utc`, because of a wrong clock or an import, are ignored (load_future_nights lists
// them).
struct HistoryQuery {
  SweepsOf of = SweepsOf::history;         // the kinds that count as a night
  std::string series = "*";                // a GLOB over MATRIX/CELL; the control is always read
  std::optional<std::string> matrix = {};  // only this matrix: its exact name
  std::string metric = "step_time_s";
  std::int64_t nights = 134;  // newest nights of each matrix: those that the screen uses (harness/stats/screen.h)
  std::optional<NightSweeps> night =
      {};  // tonight, with all nights before it; nullopt: the newest night of each matrix
  std::string now_utc = harness::utc_now();
};

// Sorted by matrix, cell and run. Values that are not above 0 are left out, because they have no logarithm.
std::vector<SeriesHistory> load_history(const Connection& db, const HistoryQuery& query);

// Without the control, which uses the smallest cell of the night.
Tonight load_tonight(const Connection& db, const HistoryQuery& query);

// Nights and controls that the query ignores because they are dated in the future, oldest first.
std::vector<NightId> load_future_nights(const Connection& db, const HistoryQuery& query);

// The control's first night with the same commit as its newest one whose commit is known, among nights up to
// `until_utc`; nullopt before its first night.
std::optional<NightId> first_night_of_control(const Connection& db, const std::string& until_utc);

// Keys of the sweeps that load_history reads: nights, and those of their control.
std::vector<std::int64_t> load_night_keys(const Connection& db, const HistoryQuery& query);

// The median noise probe of each night's runs, by sweep id: the speed of the machine itself.
std::map<std::string, double> load_probes(const Connection& db, const SeriesId& series);

}  // namespace perfbench::harness
