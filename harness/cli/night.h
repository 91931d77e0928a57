// One night of a matrix: measured, screened, confirmed. nightly_command.cpp says what is done with what it finds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/ab/comparison_ledger.h"
#include "harness/ab/sides.h"
#include "harness/cli/ab_options.h"
#include "harness/cli/commands.h"
#include "harness/cli/planned_sweep.h"
#include "harness/history/history.h"
#include "harness/nightly/engine_archive.h"
#include "harness/nightly/night_verdict.h"
#include "harness/run/interruption.h"
#include "reports/night_text.h"

namespace perfbench::harness {

enum class HistoryFrom { store, simulated };

struct NightOptions {
  AbOptions ab = {};                   // matrix, database, run directories, execution, and how the pairs are run
  std::int64_t repeats = 0;            // 0: as the matrix says
  std::filesystem::path archive = {};  // of engines; empty: beside the database
  std::filesystem::path control = {};  // engine that is fixed from now on; empty: the one that is, or tonight's
  bool run_control = true;
  bool confirm = true;
  HistoryFrom history = HistoryFrom::store;  // simulated: a demonstration
  std::string fault = {};                    // of a simulated history: what is planted tonight (engine/faults/faults.h)

  std::filesystem::path runs_folder() const;
  std::filesystem::path archive_folder() const;
};

class Night {
 public:
  Night(NightOptions options, const CommandContext& context, Interruption& interruption);

  // In this order. Each throws InputError, StoreError, RunDirectoryError; nothing measured is lost by it.
  void measure();
  void screen();
  void confirm();
  void compare_with_anchor();  // once a month

  const reports::NightReport& report() const { return report_; }
  reports::NightReport& report() { return report_; }
  Connection& db() { return store_.db(); }
  bool cancelled() const { return cancelled_; }

 private:
  // Cells that the same two engines decide.
  struct GoodEngine {
    ArchivedEngine good;
    AbSide bad;
    std::set<std::string> cells;
    std::set<NightQuestion> answers;  // of these cells
  };
  // The cells of a night, and by which engines they can be compared.
  struct EngineGroups {
    std::vector<GoodEngine> groups;
    std::set<std::string> unusable;  // sentences; one engine serves many cells
  };

  ExecutionSettings settings(const AbSide& side, SweepKind kind) const;
  void sweep(const PlannedWork& work, const ExecutionSettings& execution);
  void simulate_history(const PlannedWork& work);
  void measure_with_planted_fault(const PlannedWork& work);
  void measure_control(const PlannedWork& work);
  AbSide tonight(const std::string& cell) const;
  NightComparison compare(const AbSide& a, const AbSide& b, const std::set<std::string>& cells, AbPurpose purpose);
  std::vector<GoodEngine> good_engines(NoPairs& no_pairs);
  void choose_engine(const AlertFinding& asked, EngineGroups& engines, NoPairs& no_pairs);
  void note_changes(const HistoryResult& seen);
  void note_cells_without_numbers(const HistoryResult& seen);
  void find_last_good_nights();
  LibraryChanges changed_libraries(const std::vector<NightComparison>& comparisons);
  bool is_demonstration() const { return options_.history == HistoryFrom::simulated; }
  void keep_demonstrations_apart();

  NightOptions options_;
  const CommandContext& context_;
  Interruption& interruption_;
  ModelCatalog catalog_;
  SweepStore store_;
  EngineArchive archive_;
  std::string sweep_id_;
  std::string control_id_;  // the sweep of tonight's control; empty: none ran
  AbSide engine_;           // what every cell but a planted one runs with, tonight and on the nights before
  std::filesystem::path tonights_libraries_;  // as the archive has them
  std::optional<std::string> planted_cell_;   // of a demonstration; that of a matrix without axes has an empty label
  std::vector<AlertFinding> measured_;        // every series of tonight, as a finding that ends tonight
  std::vector<AlertFinding> screened_;
  std::vector<AlertFinding> unscreened_;  // series of tonight with too few nights, from the cell's last good night on
  std::map<std::string, std::vector<NightPoint>> earlier_;  // nights of every cell before tonight, oldest first
  std::map<std::string, std::shared_ptr<const std::map<std::string, std::string>>> facts_;  // of tonight's cells
  reports::NightReport report_;
  bool cancelled_ = false;
};

}  // namespace perfbench::harness
