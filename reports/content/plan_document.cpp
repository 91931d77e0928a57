#include "reports/content/plan_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "harness/plan/plan_export.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"
#include "workloads/spec/run_program.h"

namespace perfbench::reports {

std::string label_of(const harness::PlannedCell& planned) {
  return harness::shown_label(planned.cell.label);
}

std::string count_text(std::int64_t count) {
  return human_count(static_cast<double>(count));
}

std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic) {
  std::map<std::string, std::int64_t> sent;
  for (const auto& entry : traffic) sent[entry.axis] += entry.sent_bytes;
  std::string out;
  for (const auto& [axis, bytes] : sent) {
    if (bytes > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis, human_bytes(bytes));
  }
  return out.empty() ? kNothing : out;
}

namespace {

using harness::PlannedCell;

class NeedChart {
 public:
  NeedChart(const char* key, std::string title, const char* of)
      : chart_{.key = key,
               .title = std::move(title),
               .x = {.title = of},
               .y = {.title = "", .from_zero = true},
               .series = {{.name = "needed", .marks = Marks::bars, .points = {}},
                          {.name = "a device has", .marks = Marks::points, .points = {}, .colour = Colour::limit}},
               .sideways = true} {}

  void add(std::string name, std::int64_t needed, std::int64_t available) {
    const auto x = static_cast<double>(chart_.x.categories.size());
    chart_.x.categories.push_back(std::move(name));
    chart_.series[0].points.push_back({.x = x, .y = static_cast<double>(needed), .text = human_bytes(needed)});
    if (available > 0) chart_.series[1].points.push_back({.x = x, .y = static_cast<double>(available)});
  }

  Chart chart() {
    if (chart_.series[1].points.empty()) chart_.series.pop_back();
    show_in_unit(chart_, "memory", "bytes");
    return std::move(chart_);
  }

 private:
  Chart chart_;
};

}  // namespace

Chart plan_chart(const std::vector<PlannedCell>& plan) {
  constexpr std::size_t kMostDrawn = 40;
  std::vector<const PlannedCell*> cells;
  for (const auto& planned : plan) {
    if (planned.counts && planned.memory_needed_bytes > 0) cells.push_back(&planned);
  }
  const auto drawn = std::min(cells.size(), kMostDrawn);
  std::partial_sort(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(drawn), cells.end(),
                    [](const auto* a, const auto* b) { return a->memory_needed_bytes > b->memory_needed_bytes; });
  const auto title = drawn < cells.size()
                         ? fmt::format("Memory of a device, the {} largest of {} cells", drawn, cells.size())
                         : std::string("Memory of a device");
  NeedChart out("memory", title, "cell");
  for (std::size_t i = 0; i < drawn; ++i) {
    out.add(harness::shown_label(cells[i]->cell.label), cells[i]->memory_needed_bytes,
            cells[i]->memory_available_bytes);
  }
  return out.chart();
}

Chart stages_chart(const PlannedCell& planned) {
  NeedChart out("stages", "Memory of a device, by stage of the pipeline", "stage");
  const auto& counts = *planned.counts;
  if (counts.stages.empty()) out.add("all", planned.memory_needed_bytes, planned.memory_available_bytes);
  for (const auto& stage : counts.stages) {
    out.add(std::to_string(stage.stage), spec::needed_bytes(stage), planned.memory_available_bytes);
  }
  return out.chart();
}

namespace {

using harness::PlanState;

// Columns from `first_number` on are numbers.
Table table_of(const char* key, std::initializer_list<const char*> titles, std::size_t first_number) {
  Table table{.key = key, .columns = {}, .rows = {}};
  for (const auto* title : titles) {
    const auto align = table.columns.size() < first_number ? Align::left : Align::right;
    table.columns.push_back({.title = title, .key = title, .align = align, .audience = Audience::people});
  }
  return table;
}

Cell plan_state_cell(PlanState state) {
  const auto tone = state == PlanState::failed     ? Tone::bad
                    : state == PlanState::feasible ? Tone::plain
                                                   : Tone::doubtful;
  return {std::string(spec::enum_name(state)), Value(), tone};
}

bool had_a_choice(const PlannedCell& planned) {
  return !planned.bf16_weights_because.empty();
}

// How weights are prepared for products, if the plan chose it.
void add_choice(Row& row, const PlannedCell& planned) {
  const auto chosen = planned.cell.run.bf16_weights;
  row.cells.emplace_back(had_a_choice(planned) ? std::string(spec::enum_name(chosen)) : kNothing);
  if (had_a_choice(planned) && chosen == spec::Bf16Weights::cast) {
    row.notes.push_back("bf16_weights: cast: " + planned.bf16_weights_because);
  }
}

Row plan_row(const PlannedCell& planned, std::size_t columns) {
  Row row{
      .cells = {label_of(planned), plan_state_cell(planned.state), std::to_string(planned.cell.run.mesh.devices())}};
  const bool counted = planned.counts && planned.counts->peak.total_bytes > 0;
  if (counted) {
    const auto& counts = *planned.counts;
    row.cells.emplace_back(count_text(counts.parameters));
    for (const auto bytes : {spec::needed_bytes(counts), counts.peak.weights_bytes, counts.peak.gradients_bytes,
                             counts.peak.optimizer_bytes, counts.peak.activations_bytes, counts.peak.gathered_bytes,
                             counts.peak.workspace_bytes}) {
      row.cells.emplace_back(human_bytes(bytes));
    }
    row.cells.emplace_back(count_text(counts.flops.model_flops()));
    row.cells.emplace_back(count_text(counts.flops.rematerialised_flops));
    row.cells.emplace_back(traffic_text(counts.traffic));
  }
  while (row.cells.size() < columns) row.cells.emplace_back(kNothing);
  if (!planned.reason.empty()) row.notes.push_back(planned.reason);
  return row;
}

// "llama: 12 cells, 10 feasible, 2 infeasible"
std::string counts_text(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  std::map<PlanState, std::size_t> count;
  for (const auto& planned : plan) ++count[planned.state];
  auto out = fmt::format("{}: {} cells", matrix, plan.size());
  for (const auto& [state, cells] : count) out += fmt::format(", {} {}", cells, spec::enum_name(state));
  return out;
}

// A card for each state that a cell has, and one for the cell that needs most memory.
Cards plan_cards(const std::vector<PlannedCell>& plan) {
  std::map<PlanState, std::size_t> count;
  const PlannedCell* largest = nullptr;
  for (const auto& planned : plan) {
    ++count[planned.state];
    if (largest == nullptr || planned.memory_needed_bytes > largest->memory_needed_bytes) largest = &planned;
  }
  Cards out;
  for (const auto& [state, cells] : count) {
    out.cards.push_back({.title = std::string(spec::enum_name(state)),
                         .value = fmt::format("{} of {}", cells, plan.size()),
                         .detail = plan.size() == 1 ? "cell" : "cells",
                         .tone = plan_state_cell(state).tone});
  }
  if (largest != nullptr && largest->memory_needed_bytes > 0) {
    out.cards.push_back({.title = "largest memory of a device",
                         .value = human_bytes(largest->memory_needed_bytes),
                         .detail = label_of(*largest)});
  }
  return out;
}

std::string summary(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  return counts_text(matrix, plan) +
         ". Memory (including the allocator's gaps; each part at its own peak) and FLOP of one device and step; sent: "
         "bytes per step by mesh axes and level.";
}

// perfbench-engine counts nothing for a program, so that its plan consists of commands. They stand in a table of their
// own, because they are much longer than the notes of other cells.
Document program_document(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  auto cells = table_of("cells", {"Cell", "State", "Devices"}, 2);
  auto commands = table_of("commands", {"Cell", "Command"}, 2);
  for (const auto& planned : plan) {
    const auto& run = planned.cell.run;
    cells.rows.push_back({.cells = {label_of(planned), plan_state_cell(planned.state),
                                    spec::says(run, "mesh") ? std::to_string(run.mesh.devices()) : kNothing}});
    if (!planned.reason.empty()) cells.rows.back().notes.push_back(planned.reason);
    if (planned.state != PlanState::feasible) continue;
    commands.rows.push_back({.cells = {label_of(planned), harness::program_line(run.program->spec)}});
  }
  Document out;
  out.add(Heading{.text = "Plan of " + matrix});
  out.add(plan_cards(plan));
  out.add(std::move(cells));
  if (!commands.rows.empty()) out.add(std::move(commands));
  out.add(Note{counts_text(matrix, plan) + ". Each cell runs a training program."});
  return out;
}

bool runs_programs(const std::vector<PlannedCell>& plan) {
  return !plan.empty() && plan.front().cell.run.program != nullptr;
}

}  // namespace

Document plan_document(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  if (runs_programs(plan)) return program_document(matrix, plan);
  auto table = table_of("cells",
                        {"Cell", "State", "Devices", "Parameters", "Memory/device", "Weights", "Gradients", "Optimizer",
                         "Activations", "Gathered", "Workspace", "FLOP/step", "Recomputed"},
                        2);
  table.columns.push_back({.title = "Sent/step", .key = "Sent/step", .audience = Audience::people});
  table.rows.reserve(plan.size());
  for (const auto& planned : plan) table.rows.push_back(plan_row(planned, table.columns.size()));
  if (std::any_of(plan.begin(), plan.end(), had_a_choice)) {
    table.columns.push_back({.title = "bf16 weights", .key = "bf16_weights", .audience = Audience::people});
    for (std::size_t i = 0; i < plan.size(); ++i) add_choice(table.rows[i], plan[i]);
  }
  Document out;
  out.add(Heading{.text = "Plan of " + matrix});
  out.add(plan_cards(plan));
  out.add(std::move(table));
  auto chart = plan_chart(plan);
  if (chart.series.front().points.size() > 1) out.add(std::move(chart));
  out.add(Note{summary(matrix, plan)});
  return out;
}

}  // namespace perfbench::reports
