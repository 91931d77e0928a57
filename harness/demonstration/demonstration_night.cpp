#include "harness/demonstration/demonstration_night.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "harness/demonstration/simulated_nights.h"
#include "harness/evidence/run_evidence.h"
#include "harness/input_error.h"
#include "harness/store/query.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kClock = "work_clock";  // engine/faults/faults.h

// What runs beside it is in none of its times.
NightOptions unspoiled(NightOptions options) {
  options.ab.spoil = {.most_probe_spread = 1e9, .most_probe_shift = 1e9, .most_steal = 1e9, .most_foreign = 1e9};
  return options;
}

PlannedWork only(const PlannedWork& work, const std::function<bool(const Cell&)>& wanted) {
  PlannedWork out{.plans = work.plans};
  std::copy_if(work.cells.begin(), work.cells.end(), std::back_inserter(out.cells), wanted);
  return out;
}

}  // namespace

DemonstrationNight::DemonstrationNight(NightOptions options, std::string fault, const Installation& installation,
                                       Interruption& interruption)
    : Night(unspoiled(std::move(options)), installation, interruption), fault_(std::move(fault)) {
  faulty_side({fault_}, installation.engine);
}

AbSide DemonstrationNight::ordinary_engine() const {
  return faulty_side({kClock}, installation().engine);
}

AbSide DemonstrationNight::tonight(const std::string& cell) const {
  return planted_cell_ == cell ? faulty_side({kClock, fault_}, installation().engine) : ordinary_engine();
}

bool DemonstrationNight::can_measure(const Cell& cell) const {
  return cell.run.device == spec::Device::cpu;
}

// The other way round as well: made-up times among measured ones.
void DemonstrationNight::check_database(Connection& db) const {
  if (has_sweep_of(db, SweepKind::simulated) || !has_any_sweep(db)) return;
  throw InputError(
      fmt::format("[nightly] {} holds measured runs, and --history-from simulated makes nights up: name a new "
                  "database with --db",
                  db.path().string()));
}

void DemonstrationNight::measure_cells(const PlannedWork& work) {
  simulate_history(work);
  if (!cancelled()) measure_with_planted_fault(work);
}

// Nights before tonight made of clean runs of every cell: nothing of it is measured on those days, and every record
// says so.
void DemonstrationNight::simulate_history(const PlannedWork& work) {
  reports::print(stderr, "clean runs of every cell, of which earlier nights are simulated\n");
  const auto base = fs::path(options().ab.db).replace_extension(".base.runs");
  const auto engine = ordinary_engine();
  auto execution = settings(engine, SweepKind::simulated);
  execution.runs = base;
  const SweepHooks hooks{
      .plan = [&work](const Cell& cell) { return work.plans.at(cell.run_id); },
      .store = [](const fs::path&) { return std::string(); },
      .stored = [](const std::string&, const std::string&, AttemptState) { return std::int64_t{0}; }};
  const auto summary = run_sweep(work.cells, {.execution = execution}, hooks, interruption());
  cancel_if(summary.cancelled);
  std::vector<fs::path> folders;
  for (const auto& attempt : summary.attempts) folders.push_back(attempt.directory);
  const SimulatedNights how{.sweep_prefix = "simulated-" + sweep_id() + "-"};
  std::string night;
  for (const auto& folder : write_simulated_nights(folders, options().runs_folder(), how)) {
    const auto attempt = read_attempt(folder);
    if (std::exchange(night, attempt->sweep_id) != attempt->sweep_id) {
      archive().keep(night, attempt->matrix, engine.engine.file);
    }
    store().ingest(folder);
  }
  fs::remove_all(base);
  note("This is a demonstration: every time in it is of a clock that the engine's own work turns, not the machine's");
  note(fmt::format("The {} nights before are simulated from runs of a moment ago", how.nights));
}

void DemonstrationNight::measure_with_planted_fault(const PlannedWork& work) {
  const auto planted = std::find_if(work.cells.begin(), work.cells.end(), [&](const Cell& cell) {
    return work.can_run(cell) && cell.run.device == spec::Device::cpu;
  });
  if (planted == work.cells.end()) throw InputError("[nightly] no cell of the matrix can run here on a CPU");
  planted_cell_ = planted->label;
  note(fmt::format("Planted tonight: {} in {}", fault_, shown_label(planted->label)));
  const auto is_planted = [this](const Cell& cell) { return cell.label == planted_cell_; };
  sweep(only(work, [&](const Cell& cell) { return !is_planted(cell); }),
        settings(ordinary_engine(), SweepKind::simulated));
  sweep(only(work, is_planted), settings(tonight(planted->label), SweepKind::simulated));
}

}  // namespace perfbench::harness
