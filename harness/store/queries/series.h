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
#include "harness/records/subject.h"
#include "harness/store/queries/sweeps.h"
#include "harness/store/sqlite.h"
#include "harness/system/utc.h"

namespace perfbench::harness {

struct NightPoint {
  NightId night;
  std::int64_t started_s = 0;              // of the night, since 1970
  std::int64_t sweep_key = 0;              // of the night in this store: orders those of one second
  std::string only;                        // AttemptRecord::only
  std::string machine;                     // machine_class (store/machine_class.h)
  std::shared_ptr<const Subject> subject;  // never null of a store
  std::shared_ptr<const std::map<std::string, std::string>> facts;  // of one of its runs; never null
  double value = 0;                                                 // exp of the median log over its runs; above 0
  std::size_t runs = 0;                                             // that the value is of
  bool noisy = false;  // the noise probe moved during all of them; if it did not, those of which it did are left out
};

struct SeriesHistory {
  bool is_control = false;  // of the fixed engine that runs beside the nights: its drift is the machine's
  std::string matrix;
  std::string cell;
  std::string run_id;
  std::string metric;
  std::vector<NightPoint> nights;  // oldest first; of one night with several machines or subjects, one point each
};

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
  std::int64_t nights = 134;              // newest of each matrix: what the screen looks back (detect/screen.h)
  std::optional<NightSweeps> night = {};  // tonight, with all nights before it; nothing: the newest of each matrix
  std::string now_utc = harness::utc_now();
};

// By matrix, cell and run. Values that are not above 0 are left out: they have no logarithm.
std::vector<SeriesHistory> load_history(const Connection& db, const HistoryQuery& query);

// How a cell ended in the newest night of its matrix: "ok" if any of its runs did, else as the last of them.
struct TonightCell {
  std::string matrix;
  std::string cell;
  std::string state;
  std::string reason;

  bool only_planned() const { return state == "infeasible" || state == "excluded"; }
};
struct Tonight {
  std::map<std::string, NightId> night;     // by matrix
  std::map<std::string, std::string> only;  // by matrix: AttemptRecord::only
  std::vector<TonightCell> cells;
};
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
