#include "reports/plan_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>

#include "reports/format/number.h"
#include "reports/format/quantity.h"

namespace perfbench::reports {
namespace {

using harness::PlannedCell;
using harness::PlanState;

Column text_column(const char* title) {
  return {.title = title, .key = title, .audience = Audience::people};
}
Column number_column(const char* title) {
  return {.title = title, .key = title, .align = Align::right, .audience = Audience::people};
}

// Those from `first_number` on are numbers.
Table table_of(const char* key, std::initializer_list<const char*> titles, std::size_t first_number) {
  Table table{.key = key, .columns = {}, .rows = {}};
  for (const auto* title : titles) {
    table.columns.push_back(table.columns.size() < first_number ? text_column(title) : number_column(title));
  }
  return table;
}

std::string label_of(const PlannedCell& planned) {
  return planned.cell.label.empty() ? "(defaults)" : planned.cell.label;
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

Cell state_cell(PlanState state) {
  const auto tone = state == PlanState::failed     ? Tone::bad
                    : state == PlanState::feasible ? Tone::plain
                                                   : Tone::doubtful;
  return {std::string(spec::enum_name(state)), Value(), tone};
}

Row row_of(const PlannedCell& planned, std::size_t columns) {
  Row row{.cells = {label_of(planned), state_cell(planned.state), std::to_string(planned.cell.run.mesh.devices())}};
  const bool counted = planned.counts && planned.counts->peak.total_bytes > 0;
  if (counted) {
    const auto& counts = *planned.counts;
    row.cells.emplace_back(count_text(counts.parameters));
    for (const auto bytes : {spec::needed_bytes(planned.cell.run, counts), counts.peak.weights_bytes,
                             counts.peak.gradients_bytes, counts.peak.optimizer_bytes, counts.peak.activations_bytes,
                             counts.peak.gathered_bytes, counts.peak.workspace_bytes}) {
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

std::string summary(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  std::map<PlanState, std::size_t> count;
  for (const auto& planned : plan) ++count[planned.state];
  auto out = fmt::format("{}: {} cells", matrix, plan.size());
  for (const auto& [state, cells] : count) out += fmt::format(", {} {}", cells, spec::enum_name(state));
  return out +
         ". Memory (with the allocator's gaps; the parts at their own peaks) and FLOP of one device and step; "
         "sent: bytes per step by mesh axes and level.";
}

// A row for each field of a field list: its name, its amount, what it is.
template <class T>
Table amounts(const char* key, const T& value, std::string (*text)(std::int64_t)) {
  auto table = table_of(key, {"Of", "Amount"}, 1);
  table.columns.push_back(text_column("Which is"));
  auto add = [&](const spec::Field& field, const std::int64_t& amount) {
    table.rows.push_back({.cells = {std::string(field.name), text(amount), std::string(field.help)}});
  };
  T::fields(value, add);
  return table;
}

Table collectives(const std::vector<spec::AxisTraffic>& traffic) {
  auto table = table_of("collectives", {"Axis", "Collective", "Messages", "Payload", "Sent"}, 2);
  for (const auto& entry : traffic) {
    table.rows.push_back({.cells = {entry.axis, entry.collective, std::to_string(entry.messages),
                                    human_bytes(entry.payload_bytes), human_bytes(entry.sent_bytes)}});
  }
  return table;
}

Table stages(const spec::RunSpec& run, const spec::DryCounts& counts) {
  auto table = table_of(
      "stages", {"Stage", "Rank", "Layers", "Memory", "Weights", "Activations", "Gathered", "FLOP", "Recomputed"}, 1);
  table.columns.push_back(text_column("Sent"));
  for (const auto& stage : counts.stages) {
    Row row{.cells = {fmt::format("{}{}", stage.stage, stage.rank == counts.rank ? " (most)" : "")}};
    for (const auto number : {stage.rank, stage.layers}) row.cells.emplace_back(std::to_string(number));
    for (const auto bytes : {spec::needed_bytes(run, stage), stage.peak.weights_bytes, stage.peak.activations_bytes,
                             stage.peak.gathered_bytes}) {
      row.cells.emplace_back(human_bytes(bytes));
    }
    for (const auto flops : {stage.flops.model_flops(), stage.flops.rematerialised_flops}) {
      row.cells.emplace_back(count_text(flops));
    }
    row.cells.emplace_back(traffic_text(stage.traffic));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table tensors(const std::vector<spec::TensorGroup>& groups) {
  auto table = table_of("tensors", {"Scope", "Tensor", "Dtype", "Local shape", "Count", "Bytes"}, 4);
  for (const auto& group : groups) {
    table.rows.push_back({.cells = {group.scope, group.name, group.dtype, group.shape, std::to_string(group.tensors),
                                    human_bytes(group.bytes)}});
  }
  return table;
}

void add_section(Document& out, const char* title, Table table) {
  constexpr int kLevel = 3;
  out.add(Heading{.level = kLevel, .text = title});
  if (table.rows.empty()) {
    out.add(Paragraph{.text = "none"});
  } else {
    out.add(std::move(table));
  }
}

}  // namespace

Document plan_document(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  auto table = table_of("cells",
                        {"Cell", "State", "Devices", "Parameters", "Memory/device", "Weights", "Gradients", "Optimizer",
                         "Activations", "Gathered", "Workspace", "FLOP/step", "Recomputed"},
                        2);
  table.columns.push_back(text_column("Sent/step"));
  table.rows.reserve(plan.size());
  for (const auto& planned : plan) table.rows.push_back(row_of(planned, table.columns.size()));
  Document out;
  out.add(std::move(table));
  out.add(Note{summary(matrix, plan)});
  return out;
}

Document plan_details(const PlannedCell& planned) {
  constexpr int kLevel = 2;
  const auto& cell = planned.cell;
  Document out;
  out.add(Heading{.level = kLevel, .text = label_of(planned)});
  out.add(Paragraph{.text = fmt::format("run {}", cell.run_id)});
  out.add(Paragraph{.text = fmt::format("{}{}", spec::enum_name(planned.state),
                                        planned.reason.empty() ? "" : ": " + planned.reason)});
  if (!planned.counts) return out;
  const auto& counts = *planned.counts;
  out.add(
      Paragraph{.text = fmt::format(
                    "{} devices, {} parameters; {} needed per device, {} of it alive at the peak, {} available",
                    cell.run.mesh.devices(), count_text(counts.parameters),
                    human_bytes(spec::needed_bytes(cell.run, counts)), human_bytes(counts.peak.total_bytes),
                    planned.memory_available_bytes == 0 ? "unknown" : human_bytes(planned.memory_available_bytes))});
  if (!counts.stages.empty()) {
    add_section(out, "Stages", stages(cell.run, counts));
    out.add(
        Note{fmt::format("Were they equal, {:.1f} % of their time would be waiting; below, the one that needs most.",
                         100 * counts.bubble_fraction)});
  }
  add_section(out, "Memory of one device, each scope at its own peak", amounts("memory", counts.peak, human_bytes));
  add_section(out, "FLOP of one device and step", amounts("flops", counts.flops, count_text));
  add_section(out, "Collectives of one device and step", collectives(counts.traffic));
  add_section(out, "Tensors alive at the peak", tensors(counts.largest));
  return out;
}

}  // namespace perfbench::reports
