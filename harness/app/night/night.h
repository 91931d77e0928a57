// One night of a matrix. Each part is a function that takes the values of the parts before it:
//
//   measure() -> Measured, screen() -> Screened, confirm() -> Confirmed, raise_alerts() -> NightReport
//
// A demonstration measures with a function of its own (demonstration_night.h); the other parts are the same. Every
// function throws InputError, StoreError, RunDirectoryError; no measurement is lost by that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/night/alert_delivery.h"
#include "harness/app/night/engine_archive.h"
#include "harness/app/night/night_report.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/execute/interruption.h"
#include "harness/judge/program_rules.h"
#include "harness/matrix/model_catalog.h"
#include "harness/pairs/sides.h"
#include "harness/records/judgement.h"
#include "harness/stats/screen_rule.h"
#include "harness/store/queries/series.h"

namespace perfbench::harness {

// Whether live alerts of earlier nights change tonight's verdict (verdicts_of in alert_rules.h).
enum class ExitByAlerts { yes, no };

struct NightOptions {
  AbOptions ab = {};                   // matrix, database, run directories, execution, and options of the pairs
  std::int64_t repeats = 0;            // 0: as the matrix says
  std::filesystem::path archive = {};  // folder of engines; empty: beside the database
  // The control's engine from now on. Empty: the control keeps its engine; a new control takes tonight's.
  std::filesystem::path control = {};
  ScreenBudget budget = {};  // of false screens
  bool run_control = true;
  bool confirm = true;
  ExitByAlerts exit_by_alerts = ExitByAlerts::yes;

  std::filesystem::path runs_folder() const;
  std::filesystem::path archive_folder() const;
};

// The parts of a night share its options, its database and its archive of engines.
struct Night {
  // Throws InputError if the launcher of the options cannot be used for a night.
  Night(NightOptions asked, const Installation& installed, Interruption& stop);

  RunsWhere where() const { return runs_where(remote.get()); }

  NightOptions options;
  const Installation& installation;
  Interruption& interruption;
  ModelCatalog catalog;
  SweepStore store;
  EngineArchive archive;
  std::unique_ptr<RemoteSessions> remote;  // one job for the cells, the control and the pairs; null: they run here
  std::string sweep_id;
  std::string started_utc;
};

struct Measured {
  std::string matrix;
  bool runs_program = false;  // the cells run a training program in place of the engine
  std::vector<std::string> screened = screened_metrics(nullptr);  // metrics, by name
  AbSide engine;                                                  // the engine of cells
  std::map<std::string, AbSide> other_engines;  // by label: the engines of cells that ran with another one
  std::filesystem::path libraries;              // those of `engine`, in the archive
  std::string control_id;                       // the sweep of tonight's control; empty: none ran
  bool can_check_for_creep = true;              // the control's engine stays the same from night to night
  std::size_t cells_ok = 0;
  std::size_t cells_failed = 0;
  std::size_t cells_not_run = 0;     // infeasible or excluded
  std::vector<std::string> not_run;  // as NightReport has them, with the notes
  std::vector<std::string> notes;
  bool cancelled = false;

  const AbSide& engine_of(const std::string& cell) const;
  std::string code_name() const { return runs_program ? "program" : "engine"; }
};
Measured measure(Night& night);

struct Screened {
  std::size_t series = 0;          // over all metrics
  std::size_t too_few_nights = 0;  // of these: not screened
  std::vector<ShiftedSeries> shifted;
  std::vector<Finding> findings;    // shifts and vanished cells
  std::optional<Finding> noisier;   // not for pairs: nothing shifted
  LastingShifts lasting;            // among `findings`
  std::vector<Finding> measured;    // every series of tonight, from its creep, if there is one, to tonight
  std::vector<Finding> unscreened;  // series of tonight with too few nights, from the cell's last good night on
  std::vector<NightCell> cells;
  std::vector<UnseenCell> unseen;
  std::map<std::string, std::vector<NightPoint>> earlier;  // nights of every cell before tonight, oldest first
  std::map<std::string, std::shared_ptr<const std::map<std::string, std::string>>> facts;  // of tonight's cells
  std::vector<LedgerLine> ledger;
  std::vector<std::string> notes;
};
Screened screen(Night& night, const Measured& measured);

// Asks pairs to compare a series with too few nights with the code of the night `good`, which Measured::code_name calls
// `code`.
void compare_with_night(Finding& series, const NightId& good, const std::string& code);

struct Confirmed {
  std::vector<NightFinding> findings;
  std::vector<UnseenCell> unseen;
  std::vector<std::string> not_run;
  std::vector<std::string> notes;
  bool cancelled = false;
};
// Runs pairs of the same night for series that shifted, and once a month for slow creeps.
Confirmed confirm(Night& night, const Measured& measured, const Screened& screened);

// Turns findings into alerts and new alerts into messages (alert_delivery.h), and adds live alerts to the report.
NightReport raise_alerts(Night& night, Measured measured, Screened screened, Confirmed confirmed,
                         const AlertMessage& message);

// The steps of measure(), from which a demonstration makes its own.

// Plans the cells of the matrix that `can_measure` accepts, and sets the name of the matrix.
PlannedWork plan_night(Night& night, const std::function<bool(const Cell&)>& can_measure, Measured& out);
// Archives tonight's engine for later nights.
void keep_engine(Night& night, Measured& out);
void remove_old_engines(Night& night);
ExecutionSettings night_settings(const Night& night, const AbSide& side, SweepKind kind);
void run_cells(Night& night, const PlannedWork& work, const ExecutionSettings& execution, Measured& out);

}  // namespace perfbench::harness
