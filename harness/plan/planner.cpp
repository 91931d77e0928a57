#include "harness/plan/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>

#include "harness/matrix/model_catalog.h"
#include "harness/plan/dry_engine.h"
#include "harness/plan/kept_weights.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "harness/system/run_id.h"
#include "reports/render/format/number.h"
#include "workloads/spec/node_limits.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kLargestShown = 3;

// MemTotal of /proc/meminfo, 0 if it is missing.
std::int64_t installed_memory_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::int64_t kib = 0;
  while (meminfo >> key >> kib) {
    if (key == "MemTotal:") return kib * 1024;
    meminfo.ignore(256, '\n');
  }
  return 0;
}

// The memory that a run on this machine may use, which in a container is often less than is installed.
std::int64_t machine_memory_bytes() {
  const auto installed = installed_memory_bytes();
  const auto limit = spec::cgroup_memory_limit_bytes();
  if (!limit || *limit >= static_cast<double>(installed)) return installed;  // version 1 represents "none" as 2^63
  return static_cast<std::int64_t>(*limit);
}

struct Memory {
  std::int64_t bytes = 0;  // 0: unknown
  std::string owner;       // "h100", "memory_limit_bytes"
  bool shared = false;     // shared by all ranks of the machine
};

class MemoryCheck {
 public:
  explicit MemoryCheck(const ModelCatalog& catalog) : catalog_(catalog), machine_bytes_(machine_memory_bytes()) {}

  // The memory that one device of the run may use.
  Memory available(const spec::RunSpec& run) {
    Memory memory = of_hardware(run);
    if (run.memory_limit_bytes > 0 && (memory.bytes == 0 || run.memory_limit_bytes < memory.bytes)) {
      memory = {run.memory_limit_bytes, "memory_limit_bytes"};
    }
    return memory;
  }

 private:
  Memory of_hardware(const spec::RunSpec& run) {
    // Only the engine knows the memory of this machine's GPUs (planner.h).
    if (run.hardware == "host" && run.device == spec::Device::cuda) return {};
    if (run.hardware == "host") {
      // All ranks of a run on this machine share its memory.
      const auto ranks = run.mesh.devices();
      return {machine_bytes_ / ranks, fmt::format("this machine's share for one of {} ranks", ranks), true};
    }
    const auto known = hardware_bytes_.find(run.hardware);
    if (known != hardware_bytes_.end()) return {known->second, run.hardware};
    try {
      const auto bytes = catalog_.hardware(run.hardware).memory_bytes;
      hardware_bytes_[run.hardware] = bytes;
      return {bytes, run.hardware};
    } catch (const spec::SpecError& e) {
      throw InputError(fmt::format("[plan] hardware: {}", e.what()));
    }
  }

  const ModelCatalog& catalog_;
  const std::int64_t machine_bytes_;
  std::map<std::string, std::int64_t> hardware_bytes_;
};

std::string largest_text(const std::vector<spec::TensorGroup>& groups) {
  std::string out;
  for (std::size_t i = 0; i < std::min(groups.size(), kLargestShown); ++i) {
    out += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", groups[i].scope, groups[i].name,
                       reports::human_bytes(groups[i].bytes));
  }
  return out;
}

// Names the stage that needs most, if there are several.
std::string worst_stage_text(const spec::DryCounts& counts) {
  for (const auto& stage : counts.stages) {
    if (stage.rank == counts.rank) return fmt::format(" in stage {} of {}", stage.stage, counts.stages.size());
  }
  return "";
}

void judge(PlannedCell& planned, const Memory& memory) {
  const auto& counts = *planned.counts;
  const auto& run = planned.cell.run;
  const auto needed = memory.shared ? needed_by_all(run, counts) / run.mesh.devices() : spec::needed_bytes(counts);
  planned.memory_available_bytes = memory.bytes;
  planned.memory_needed_bytes = needed;
  if (!counts.feasible) {
    planned.state = PlanState::infeasible;
    planned.reason = counts.reason;
    return;
  }
  if (memory.bytes == 0 || needed <= memory.bytes) return;
  planned.state = PlanState::infeasible;
  planned.reason = fmt::format("needs {} per device{}, {} has {}; largest: {}", reports::human_bytes(needed),
                               memory.shared ? "" : worst_stage_text(counts), memory.owner,
                               reports::human_bytes(memory.bytes), largest_text(counts.largest));
}

// Decides cells that need no counting. Returns whether the engine has to count the cell.
bool needs_counting(PlannedCell& planned) {
  const Cell& cell = planned.cell;
  if (cell.excluded) {
    planned.state = PlanState::excluded;
    planned.reason = *cell.excluded;
    return false;
  }
  if (cell.run.program && !cell.infeasible) return false;  // perfbench-engine does not run it
  const auto reason = cell.infeasible ? cell.infeasible : spec::unsupported(cell.run);
  if (!reason) return true;
  planned.state = PlanState::infeasible;
  planned.reason = *reason;
  return false;
}

using Indices = std::vector<std::size_t>;  // of cells in a plan

// The cells of `which` in groups with equal counts, in the order of the first cell of each group.
std::vector<Indices> different_questions(const std::vector<PlannedCell>& plan, const Indices& which) {
  std::vector<std::string> asked(which.size());
  constexpr std::size_t kFewestOfAThread = 256;  // 10 ms
  parallel_ranges(which.size(), kFewestOfAThread, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) asked[i] = sha256_hex(spec::counted_json(plan[which[i]].cell.run));
  });
  std::vector<Indices> questions;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto [question, is_new] = known.emplace(std::move(asked[i]), questions.size());
    if (is_new) questions.emplace_back();
    questions[question->second].push_back(which[i]);
  }
  return questions;
}

// Asks the engine about the cells of `which` and judges its counts.
void count(std::vector<PlannedCell>& plan, const Indices& which, MemoryCheck& memory, const PlanRequest& request) {
  const auto questions = different_questions(plan, which);
  std::vector<const spec::RunSpec*> runs;
  for (const auto& same : questions) runs.push_back(&plan[same.front()].cell.run);
  const auto most_groups = request.tensors == TensorList::keep ? std::nullopt : std::optional(kLargestShown);
  ask_dry_engine(
      request.engine, runs, most_groups,
      [&](DryAnswer answer) {
        const auto counts =
            answer.failure.empty() ? std::make_shared<const spec::DryCounts>(std::move(answer.counts)) : nullptr;
        for (const auto i : questions[answer.index]) {
          PlannedCell& planned = plan[i];
          planned.counts = counts;
          if (counts) {
            judge(planned, memory.available(planned.cell.run));
          } else {
            planned.state = PlanState::failed;
            planned.reason = answer.failure;
          }
        }
      },
      request.cancel_fd, request.limits);
}

// Sets the runs that have the choice to keep their bf16 weights, to see whether they fit. Returns those cells.
Indices keep_where_open(std::vector<PlannedCell>& plan, const Indices& which, MemoryCheck& memory) {
  Indices kept;
  for (const auto i : which) {
    PlannedCell& planned = plan[i];
    if (!may_keep_bf16_weights(planned.cell)) continue;
    if (memory.available(planned.cell.run).bytes == 0) {
      planned.bf16_weights_because = "the memory of the GPU is unknown; name a `hardware`";
      continue;
    }
    keep_bf16_weights(planned.cell);
    kept.push_back(i);
  }
  return kept;
}

bool fits_with_kept_weights(const PlannedCell& planned) {
  return planned.state == PlanState::feasible &&
         planned.memory_needed_bytes <= room_for_kept_weights(planned.memory_available_bytes);
}

// Returns to cast weights where kept ones do not fit, and records the reason for all cells. Returns the cells that have
// to be counted again.
Indices cast_where_kept_do_not_fit(std::vector<PlannedCell>& plan, const Indices& kept, MemoryCheck& memory) {
  Indices again;
  for (const auto i : kept) {
    PlannedCell& planned = plan[i];
    if (planned.state == PlanState::failed) continue;
    const auto sizes =
        fmt::format("{} of the {} that {} has", reports::human_bytes(planned.memory_needed_bytes),
                    reports::human_bytes(planned.memory_available_bytes), memory.available(planned.cell.run).owner);
    if (fits_with_kept_weights(planned)) {
      planned.bf16_weights_because = "with kept weights the run needs " + sizes;
      continue;
    }
    planned.bf16_weights_because =
        fmt::format("with kept weights the run would need {}, and may fill only {}", sizes,
                    reports::human_bytes(room_for_kept_weights(planned.memory_available_bytes)));
    cast_bf16_weights(planned.cell);
    planned.state = PlanState::feasible;
    planned.reason.clear();
    planned.counts = nullptr;
    again.push_back(i);
  }
  return again;
}

}  // namespace

std::int64_t needed_by_all(const spec::RunSpec& run, const spec::DryCounts& counts) {
  if (counts.stages.empty()) return spec::needed_bytes(counts) * run.mesh.devices();
  std::int64_t of_stages = 0;
  for (const auto& stage : counts.stages) of_stages += spec::needed_bytes(stage);
  return of_stages * (run.mesh.devices() / run.mesh.pp());
}

std::vector<PlannedCell> plan_cells(std::vector<Cell> cells, const PlanRequest& request) {
  std::vector<PlannedCell> plan(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) plan[i].cell = std::move(cells[i]);
  cells = {};
  MemoryCheck memory(*request.catalog);
  Indices counted;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (needs_counting(plan[i])) counted.push_back(i);
  }
  const auto kept = keep_where_open(plan, counted, memory);
  count(plan, counted, memory, request);
  count(plan, cast_where_kept_do_not_fit(plan, kept, memory), memory, request);
  return plan;
}

std::optional<std::string> no_gpus_for(std::int64_t ranks, const spec::EnvironmentRecord& machine) {
  if (machine.cuda == "absent") {
    return "device cuda, but this perfbench-engine was built without CUDA (install the CUDA toolkit and build with "
           "-DPERFBENCH_CUDA=ON, or use device cpu)";
  }
  if (machine.gpus == 0) return "device cuda, but no GPU can be used here: " + machine.gpu_problem;
  if (machine.gpus >= ranks) return std::nullopt;
  return fmt::format("device cuda with {} ranks, but this machine has {} GPU{}", ranks, machine.gpus,
                     machine.gpus == 1 ? "" : "s");
}

std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine) {
  const spec::RunSpec& run = planned.cell.run;
  if (run.device == spec::Device::cuda) {
    if (const auto why_not = no_gpus_for(run.mesh.devices(), machine)) return "planned only: " + *why_not;
    if (!planned.counts || spec::needed_bytes(*planned.counts) <= machine.gpu_memory_bytes) return std::nullopt;
    return fmt::format("planned only: a rank needs {}, a {} has {}",
                       reports::human_bytes(spec::needed_bytes(*planned.counts)), machine.gpu_model,
                       reports::human_bytes(machine.gpu_memory_bytes));
  }
  // The plan for hardware: host already used the limits of this machine.
  if (run.hardware == "host" || !planned.counts || machine.memory_bytes == 0) return std::nullopt;
  const auto ranks = run.mesh.devices();
  const auto needed = needed_by_all(run, *planned.counts) / ranks;
  if (needed <= machine.memory_bytes / ranks) return std::nullopt;
  return fmt::format("planned only: {} ranks need {} each, but this machine has {} in all", ranks,
                     reports::human_bytes(needed), reports::human_bytes(machine.memory_bytes));
}

}  // namespace perfbench::harness
