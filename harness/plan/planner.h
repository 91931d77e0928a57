// What each cell of a matrix would take, counted by the engine's dry backend without running it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/launcher.h"
#include "harness/matrix/matrix.h"
#include "harness/plan/dry_engine.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/environment.h"

namespace perfbench::harness {

class ModelCatalog;

enum class PlanState {
  feasible,
  infeasible,  // reason: a contradiction, something the engine does not have, or too little memory
  excluded,    // by the matrix
  failed,      // the engine could not say: it crashed on this cell
};

// Cells whose counts are equal by what they are share them: a plan of a hundred thousand cells is held at once.
struct PlannedCell {
  Cell cell;
  PlanState state = PlanState::feasible;
  std::string reason;  // one line; empty when feasible
  std::shared_ptr<const spec::DryCounts>
      counts;                        // of the rank that needs most; null where the engine was not asked or did not say
  std::string bf16_weights_because;  // why the plan chose run.bf16_weights; empty where it had no choice
  std::int64_t memory_available_bytes = 0;  // of one device, 0: unknown
  std::int64_t memory_needed_bytes = 0;     // what is held against that: of ranks that share a machine, their mean
};

// A plan of thousands of cells need not hold every tensor of each.
enum class TensorList { drop, keep };

struct PlanRequest {
  EngineProgram engine;
  const ModelCatalog* catalog = nullptr;
  TensorList tensors = TensorList::drop;
  int cancel_fd = -1;  // -1: none
  DryLimits limits = {};
};

// What ranks of one machine need together there: each stage of a pipeline its own.
std::int64_t needed_by_all(const spec::RunSpec& run, const spec::DryCounts& counts);

// In the order of `cells`, each run with what the plan chose for it (kept_weights.h). Throws LaunchError when the
// engine cannot be started, InputError for a hardware name that no file describes, Cancelled once a byte can be read
// from cancel_fd.
std::vector<PlannedCell> plan_cells(std::vector<Cell> cells, const PlanRequest& request);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::PlanState> {
  using State = perfbench::harness::PlanState;
  static constexpr std::array kNames{std::pair{State::feasible, "feasible"}, std::pair{State::infeasible, "infeasible"},
                                     std::pair{State::excluded, "excluded"}, std::pair{State::failed, "failed"}};
};

namespace perfbench::harness {

// Whether this machine can execute a cell whose plan is feasible. A matrix may plan for 512 GPUs on a laptop; a sweep
// of it must not start 512 processes there.
// Why `ranks` ranks find no GPU each on this machine, in one line; nothing if they do.
std::optional<std::string> no_gpus_for(std::int64_t ranks, const spec::EnvironmentRecord& machine);

// Why not, in one line; nothing if it can. `machine` is what perfbench-engine says about itself and its node.
std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine);

}  // namespace perfbench::harness
