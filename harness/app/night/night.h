// One night of a matrix: measures, screens and confirms it, and raises its alerts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/night/alert_delivery.h"
#include "harness/app/night/engine_archive.h"
#include "harness/app/night/history.h"
#include "harness/app/night/night_report.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/execute/interruption.h"
#include "harness/pairs/sides.h"
#include "harness/records/judgement.h"
#include "harness/store/ledgers/comparison_ledger.h"

namespace perfbench::harness {

// Whether live alerts of earlier nights change tonight's verdict (verdicts_of in alert_rules.h).
enum class ExitByAlerts { yes, no };

struct NightOptions {
  AbOptions ab = {};                   // matrix, database, run directories, execution, and options of the pairs
  std::int64_t repeats = 0;            // 0: as the matrix says
  std::filesystem::path archive = {};  // folder of engines; empty: beside the database
  std::filesystem::path control =
      {};                    // engine that is fixed from now on; empty: the present one, or tonight's if there is none
  ScreenBudget budget = {};  // of false screens
  bool run_control = true;
  bool confirm = true;
  ExitByAlerts exit_by_alerts = ExitByAlerts::yes;

  std::filesystem::path runs_folder() const;
  std::filesystem::path archive_folder() const;
};

class Night {
 public:
  Night(NightOptions options, const Installation& installation, Interruption& interruption);
  virtual ~Night() = default;

  // Call them in this order. Each throws InputError, StoreError, RunDirectoryError; no measurement is lost by that.
  void measure();
  void screen();
  void confirm();
  void check_for_creep();  // once a month

  // Turns findings into alerts and new alerts into messages (alert_delivery.h), and adds live alerts to the report.
  void raise_alerts(const AlertMessage& message);

  const NightReport& report() const { return report_; }
  Connection& db() { return store_.db(); }
  bool cancelled() const { return cancelled_; }

 protected:
  // Other kinds of nights override these (demonstration_night.h).
  virtual AbSide ordinary_engine() const;                 // the engine of cells
  virtual AbSide tonight(const std::string& cell) const;  // the engine of this cell
  virtual bool can_measure(const Cell&) const { return true; }
  virtual void check_database(Connection& db) const;  // throws InputError if it contains nights of another kind
  virtual void measure_cells(const PlannedWork& work);
  virtual bool has_control() const { return true; }  // an engine that stays the same (check_for_creep)

  ExecutionSettings settings(const AbSide& side, SweepKind kind) const;
  void sweep(const PlannedWork& work, const ExecutionSettings& execution);

  const NightOptions& options() const { return options_; }
  const Installation& installation() const { return installation_; }
  Interruption& interruption() { return interruption_; }
  EngineArchive& archive() { return archive_; }
  SweepStore& store() { return store_; }
  const std::string& sweep_id() const { return sweep_id_; }
  void note(std::string sentence) { report_.notes.push_back(std::move(sentence)); }
  void cancel_if(bool cancelled) { cancelled_ = cancelled_ || cancelled; }

 private:
  // Cells that the same two engines decide.
  struct GoodEngine {
    ArchivedEngine good;
    AbSide bad;
    std::set<std::string> cells;
    std::set<NightQuestion> answers;  // for these cells
  };
  // The cells of a night, by the engines with which they can be compared.
  struct EngineGroups {
    std::vector<GoodEngine> groups;
    std::set<std::string> unusable;  // sentences; one engine serves many cells
  };

  // The engine with which series are compared to find a slow creep.
  struct Anchor {
    std::string name;  // "the control"
    NightId night;
    ArchivedEngine engine;
    std::vector<Finding> series;  // like measured_
  };

  void measure_control(const PlannedWork& work);
  std::vector<Anchor> anchors(const ArchivedEngine& control, const NightId& since);
  void compare_with(const Anchor& anchor);
  NightComparison compare(const AbSide& a, const AbSide& b, const std::set<std::string>& cells, AbPurpose purpose);
  std::vector<GoodEngine> good_engines(NoPairs& no_pairs);
  void choose_engine(const Finding& asked, EngineGroups& engines, NoPairs& no_pairs);
  void note_changes(const HistoryResult& seen);
  void list_cells(const HistoryResult& seen);
  void note_cells_without_numbers(const std::vector<TonightCell>& tonight);
  void find_last_good_nights();
  LibraryChanges changed_libraries(const std::vector<NightComparison>& comparisons);

  NightOptions options_;
  const Installation& installation_;
  Interruption& interruption_;
  ModelCatalog catalog_;
  SweepStore store_;
  EngineArchive archive_;
  std::string sweep_id_;
  std::string control_id_;                    // the sweep of tonight's control; empty: none ran
  AbSide engine_;                             // the engine of cells, tonight and on earlier nights
  std::filesystem::path tonights_libraries_;  // in the archive
  std::vector<Finding> measured_;             // every series of tonight, from its creep, if there is one, to tonight
  std::vector<Finding> screened_;
  std::optional<Finding> noisier_;   // not for pairs: nothing shifted
  LastingShifts lasting_;            // among these
  std::vector<Finding> unscreened_;  // series of tonight with too few nights, from the cell's last good night on
  std::map<std::string, std::vector<NightPoint>> earlier_;  // nights of every cell before tonight, oldest first
  std::map<std::string, std::shared_ptr<const std::map<std::string, std::string>>> facts_;  // of tonight's cells
  std::vector<LedgerLine> ledger_;                                                          // lines of the screen
  NightReport report_;
  bool cancelled_ = false;
};

}  // namespace perfbench::harness
