// What each cell of a matrix would take, counted by the engine's dry backend without running it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/matrix/cell.h"
#include "harness/plan/dry_engine.h"
#include "workloads/spec/record.h"

namespace perfbench::harness {

class ModelCatalog;

enum class PlanState {
  feasible,
  infeasible,  // reason: a contradiction, something the engine does not have, or too little memory
  excluded,    // by the matrix
  failed,      // the engine could not say: it crashed on this cell
};

// Tensors of one kind alive at the peak, over all layers: "layers.*.mlpwi_0".
struct TensorGroup {
  std::string name;
  std::string scope;
  std::string dtype;
  std::string shape;  // of one
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

struct PlannedCell {
  Cell cell;
  PlanState state = PlanState::feasible;
  std::string reason;                       // one line; empty when feasible
  std::optional<spec::DryReport> counts;    // of rank 0; absent where the engine was not asked
  std::vector<TensorGroup> largest;         // at the peak, largest first
  std::int64_t memory_available_bytes = 0;  // of one device, 0: unknown
};

// A plan of thousands of cells need not hold every tensor of each.
enum class TensorList { drop, keep };

struct PlanRequest {
  std::filesystem::path engine;  // perfbench-engine
  const ModelCatalog* catalog = nullptr;
  TensorList tensors = TensorList::drop;
  int cancel_fd = -1;  // -1: none
  DryLimits limits = {};
};

// In the order of `cells`. Throws LaunchError when the engine cannot be started, InputError for a hardware name that no
// file describes, Cancelled once a byte can be read from cancel_fd.
std::vector<PlannedCell> plan_cells(std::vector<Cell> cells, const PlanRequest& request);

// Bytes that must exist on one device at once: the arena, with the gaps between the tensors that are alive; on a CPU
// what is offloaded is in the same memory. What a plan shows and holds against the device.
std::int64_t needed_bytes(const spec::RunSpec& run, const spec::DryReport& counts);

// Tensors grouped by scope, type, shape and name with layer numbers taken out, largest first.
std::vector<TensorGroup> group_tensors(const std::vector<spec::LiveTensor>& tensors);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::PlanState> {
  using State = perfbench::harness::PlanState;
  static constexpr std::array kNames{std::pair{State::feasible, "feasible"}, std::pair{State::infeasible, "infeasible"},
                                     std::pair{State::excluded, "excluded"}, std::pair{State::failed, "failed"}};
};
