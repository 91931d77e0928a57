#include "harness/plan/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "harness/input_error.h"
#include "harness/launch/node_limits.h"
#include "harness/matrix/model_catalog.h"
#include "harness/plan/dry_engine.h"
#include "reports/format/quantity.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kLargestShown = 3;

// MemTotal of /proc/meminfo, 0 where there is none.
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

// What a run on this machine may hold: a container often less than is installed.
std::int64_t machine_memory_bytes() {
  const auto installed = installed_memory_bytes();
  const auto limit = cgroup_memory_limit_bytes();
  if (!limit || *limit >= static_cast<double>(installed)) return installed;  // version 1 writes "none" as 2^63
  return static_cast<std::int64_t>(*limit);
}

struct Memory {
  std::int64_t bytes = 0;  // 0: unknown
  std::string owner;       // "h100", "memory_limit_bytes"
};

class MemoryCheck {
 public:
  explicit MemoryCheck(const ModelCatalog& catalog) : catalog_(catalog), machine_bytes_(machine_memory_bytes()) {}

  // What one device of the run may hold.
  Memory available(const spec::RunSpec& run) {
    Memory memory = of_hardware(run);
    if (run.memory_limit_bytes > 0 && (memory.bytes == 0 || run.memory_limit_bytes < memory.bytes)) {
      memory = {run.memory_limit_bytes, "memory_limit_bytes"};
    }
    return memory;
  }

 private:
  Memory of_hardware(const spec::RunSpec& run) {
    // The memory of this machine's GPUs is known to the engine alone (runnable.h).
    if (run.hardware == "host" && run.device == spec::Device::cuda) return {};
    if (run.hardware == "host") {
      // All ranks of a run on this machine share it.
      const auto ranks = run.mesh.devices();
      return {machine_bytes_ / ranks, fmt::format("this machine's share for one of {} ranks", ranks)};
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

// "layers.17.mlpwi_0" -> "layers.*.mlpwi_0"
std::string without_numbers(const std::string& name) {
  std::string out;
  for (std::size_t start = 0; start <= name.size();) {
    const auto dot = std::min(name.find('.', start), name.size());
    const std::string part = name.substr(start, dot - start);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += (start == 0 ? "" : ".") + (is_number ? "*" : part);
    start = dot + 1;
  }
  return out;
}

std::string largest_text(const std::vector<TensorGroup>& groups) {
  std::string out;
  for (std::size_t i = 0; i < std::min(groups.size(), kLargestShown); ++i) {
    out += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", groups[i].scope, groups[i].name,
                       reports::human_bytes(groups[i].bytes));
  }
  return out;
}

void judge(PlannedCell& planned, const Memory& memory) {
  const auto& counts = *planned.counts;
  planned.memory_available_bytes = memory.bytes;
  if (!counts.feasible) {
    planned.state = PlanState::infeasible;
    planned.reason = counts.reason;
    return;
  }
  const auto needed = needed_bytes(planned.cell.run, counts);
  if (memory.bytes == 0 || needed <= memory.bytes) return;
  planned.state = PlanState::infeasible;
  planned.reason = fmt::format("needs {} per device, {} has {}; largest: {}", reports::human_bytes(needed),
                               memory.owner, reports::human_bytes(memory.bytes), largest_text(planned.largest));
}

// Decides what needs no counting. Returns whether the engine is to be asked.
bool needs_counting(PlannedCell& planned) {
  const Cell& cell = planned.cell;
  if (cell.excluded) {
    planned.state = PlanState::excluded;
    planned.reason = *cell.excluded;
    return false;
  }
  const auto reason = cell.infeasible ? cell.infeasible : spec::unsupported(cell.run);
  if (!reason) return true;
  planned.state = PlanState::infeasible;
  planned.reason = *reason;
  return false;
}

}  // namespace

std::int64_t needed_bytes(const spec::RunSpec& run, const spec::DryReport& counts) {
  const auto offloaded = run.device == spec::Device::cpu ? counts.peak.host_bytes : 0;
  return std::max(counts.arena_bytes, counts.peak.total_bytes) + offloaded;
}

std::vector<TensorGroup> group_tensors(const std::vector<spec::LiveTensor>& tensors) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, TensorGroup> groups;
  for (const auto& tensor : tensors) {
    const auto name = without_numbers(tensor.name);
    auto& group = groups[{tensor.scope, name, tensor.dtype, tensor.shape}];
    group.name = name;
    group.scope = tensor.scope;
    group.dtype = tensor.dtype;
    group.shape = tensor.shape;
    ++group.tensors;
    group.bytes += tensor.bytes;
  }
  std::vector<TensorGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<PlannedCell> plan_cells(std::vector<Cell> cells, const PlanRequest& request) {
  std::vector<PlannedCell> plan(cells.size());
  std::vector<std::size_t> asked;
  std::vector<const spec::RunSpec*> runs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    plan[i].cell = std::move(cells[i]);
    if (!needs_counting(plan[i])) continue;
    asked.push_back(i);
    runs.push_back(&plan[i].cell.run);
  }
  MemoryCheck memory(*request.catalog);
  ask_dry_engine(
      request.engine, runs,
      [&](DryAnswer answer) {
        PlannedCell& planned = plan[asked[answer.index]];
        if (!answer.failure.empty()) {
          planned.state = PlanState::failed;
          planned.reason = answer.failure;
          return;
        }
        planned.counts = std::move(answer.report);
        planned.largest = group_tensors(planned.counts->live_at_peak);
        if (request.tensors == TensorList::drop) {
          planned.counts->live_at_peak.clear();
          if (planned.largest.size() > kLargestShown) planned.largest.resize(kLargestShown);
        }
        judge(planned, memory.available(planned.cell.run));
      },
      request.cancel_fd, request.limits);
  return plan;
}

}  // namespace perfbench::harness
