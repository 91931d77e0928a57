// The needs of each cell of a matrix, counted by the engine's dry backend without running it.
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
  infeasible,  // reason: a contradiction, something that the engine does not support, or too little memory
  excluded,    // by the matrix
  failed,      // the engine could not count it: it crashed on this cell
};

// Cells whose counts are necessarily equal share them, because a plan may hold a hundred thousand cells at once.
struct PlannedCell {
  Cell cell;
  PlanState state = PlanState::feasible;
  std::string reason;  // one line; empty when feasible
  std::shared_ptr<const spec::DryCounts>
      counts;                        // of the rank that needs most; null if the engine was not asked or gave no answer
  std::string bf16_weights_because;  // why the plan chose run.bf16_weights; empty if it had no choice
  std::int64_t memory_available_bytes = 0;  // of one device, 0: unknown
  std::int64_t memory_needed_bytes = 0;     // the need to compare with that: for ranks that share a machine, their mean
};

// A plan of thousands of cells need not hold every tensor of each.
enum class TensorList { drop, keep };

struct PlanRequest {
  EngineProgram engine;
  const ModelCatalog* catalog = nullptr;
  TensorList tensors = TensorList::drop;
  int cancel_fd = -1;  // -1: cannot be cancelled
  DryLimits limits = {};
};

// The memory that the ranks of one machine need together; each stage of a pipeline has its own need.
std::int64_t needed_by_all(const spec::RunSpec& run, const spec::DryCounts& counts);

// In the order of `cells`, each run with the plan's choices for it (kept_weights.h). Throws LaunchError when the engine
// cannot be started, InputError for a hardware name that no file describes, Cancelled once a byte can be read from
// cancel_fd.
std::vector<PlannedCell> plan_cells(std::vector<Cell> cells, const PlanRequest& request);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::PlanState> {
  using State = perfbench::harness::PlanState;
  static constexpr std::array kNames{std::pair{State::feasible, "feasible"}, std::pair{State::infeasible, "infeasible"},
                                     std::pair{State::excluded, "excluded"}, std::pair{State::failed, "failed"}};
};

namespace perfbench::harness {

// Whether this machine can execute a cell whose plan is feasible. A matrix may plan for 512 GPUs on a laptop, but a
// sweep of it must not start 512 processes there. no_gpus_for: why `ranks` ranks cannot have a GPU each on this
// machine, in one line; nullopt if they can.
std::optional<std::string> no_gpus_for(std::int64_t ranks, const spec::EnvironmentRecord& machine);

// Why not, in one line; nullopt if it can. `machine` is the report of perfbench-engine about itself and its node.
std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine);

}  // namespace perfbench::harness
