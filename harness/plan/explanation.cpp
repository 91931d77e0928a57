#include "harness/plan/explanation.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "harness/matrix/model_catalog.h"
#include "harness/plan/variants.h"

namespace perfbench::harness {
namespace {

auto cost(const Alternative& alternative) {
  const auto& run = alternative.planned.cell.run;
  const auto& counts = *alternative.planned.counts;
  auto moved = counts.offloaded_bytes;
  for (const auto& entry : counts.traffic) moved += entry.sent_bytes;
  const auto devices = run.mesh.devices();
  return std::tuple(alternative.options.size(), devices,
                    static_cast<double>(counts.flops.executed_flops()) * static_cast<double>(devices), moved,
                    run.grad_accum);
}

// The variants that could be counted.
std::vector<Alternative> planned(const std::vector<Variant>& variants, const PlanRequest& request) {
  std::vector<Cell> cells;
  for (const auto& variant : variants) cells.push_back(variant.cell);
  auto plan = plan_cells(std::move(cells), request);
  std::vector<Alternative> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].counts) out.push_back({variants[i].options, std::move(plan[i])});
  }
  return out;
}

// Options that do not reduce memory on their own are left out of pairs, because a hundred pairs of a large model take
// seconds.
void keep_what_helps(std::vector<ChangeOption>& options, const std::vector<Alternative>& single,
                     const PlannedCell& cell) {
  std::set<std::size_t> useless;
  for (const auto& alternative : single) {
    if (alternative.planned.memory_needed_bytes >= cell.memory_needed_bytes)
      useless.insert(alternative.options.front());
  }
  std::size_t index = 0;
  std::erase_if(options, [&](const ChangeOption&) { return useless.contains(index++); });
}

// Keeps those that fit or, if none does, the one that needs least.
void sort_out(Explanation& explanation, std::vector<Alternative> tried) {
  explanation.tried += tried.size();
  for (auto& alternative : tried) {
    if (alternative.planned.state == PlanState::feasible) {
      explanation.alternatives.push_back(std::move(alternative));
    } else if (!explanation.smallest ||
               alternative.planned.memory_needed_bytes < explanation.smallest->planned.memory_needed_bytes) {
      explanation.smallest = std::move(alternative);
    }
  }
  if (!explanation.alternatives.empty()) explanation.smallest.reset();
}

void add_cells_that_fit(Explanation& explanation, std::vector<ChangeOption> options, const PlanRequest& request) {
  const auto& cell = explanation.cell;
  auto single = planned(variants(cell.cell, options, 1), request);
  keep_what_helps(options, single, cell);
  sort_out(explanation, std::move(single));
  if (explanation.alternatives.empty()) sort_out(explanation, planned(variants(cell.cell, options, 2), request));
}

void add_policies_that_compute_less(Explanation& explanation, std::vector<ChangeOption> options,
                                    const PlanRequest& request) {
  std::erase_if(options, [](const ChangeOption& option) { return option.kind != ChangeOption::Kind::remat; });
  const auto executed = [](const PlannedCell& planned) { return planned.counts->flops.executed_flops(); };
  auto tried = planned(variants(explanation.cell.cell, options, 1), request);
  explanation.tried = tried.size();
  std::erase_if(tried, [&](const Alternative& alternative) {
    return alternative.planned.state != PlanState::feasible ||
           executed(alternative.planned) >= executed(explanation.cell);
  });
  explanation.alternatives = std::move(tried);
}

}  // namespace

Explanation explain_cell(const Cell& cell, PlanRequest request) {
  request.tensors = TensorList::keep;
  Explanation out;
  out.cell = std::move(plan_cells({cell}, request).front());
  if (!out.cell.counts || out.cell.memory_available_bytes == 0) return out;
  request.tensors = TensorList::drop;
  const auto& run = cell.run;
  const auto per_node = run.hardware == "host" ? 0 : request.catalog->hardware(run.hardware).devices_per_node;
  const auto options = change_options(run, per_node);
  if (out.cell.state == PlanState::feasible) {
    add_policies_that_compute_less(out, options, request);
  } else {
    add_cells_that_fit(out, options, request);
  }
  std::ranges::stable_sort(out.alternatives,
                           [](const Alternative& a, const Alternative& b) { return cost(a) < cost(b); });
  return out;
}

}  // namespace perfbench::harness
