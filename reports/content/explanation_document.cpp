#include "reports/content/explanation_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "reports/content/cells.h"
#include "reports/content/peak_blocks.h"
#include "reports/content/plan_document.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::Explanation;
using harness::PlannedCell;
using harness::PlanState;
using std::int64_t;

constexpr int kTitle = 2;
constexpr int kSection = 3;
constexpr std::size_t kAlternativesShown = 12;

Column text_column(const char* title, const char* key) {
  return {.title = title, .key = key};
}
Column number_column(const char* title, const char* key) {
  return {.title = title, .key = key, .align = Align::right};
}

Cell size_cell(int64_t bytes) {
  return {human_bytes(bytes), bytes};
}
Cell large_count_cell(int64_t count) {
  return {count_text(count), count};
}
Cell share_cell(int64_t part, int64_t whole) {
  if (whole == 0) return {kNothing, Value()};
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return {format_percent(share), share};
}

void add_explained(Document& out, const char* title, Table table) {
  out.add(Heading{.level = kSection, .text = title});
  if (table.rows.empty()) {
    out.add(Paragraph{.text = "none"});
  } else {
    out.add(std::move(table));
  }
}

const spec::StageCounts* worst_stage(const spec::DryCounts& counts) {
  const auto worst = std::ranges::find(counts.stages, counts.rank, &spec::StageCounts::rank);
  return worst == counts.stages.end() ? nullptr : &*worst;
}

int64_t sent_bytes(const spec::DryCounts& counts) {
  int64_t sum = 0;
  for (const auto& entry : counts.traffic) sum += entry.sent_bytes;
  return sum;
}

// The facts that people read as sentences, in one row for programs.
Table cell_table(const PlannedCell& planned) {
  Table table{.key = "cell", .columns = {}, .rows = {{}}};
  const auto add = [&table](const char* key, Value value) {
    table.columns.push_back({.title = key, .key = key, .audience = Audience::programs});
    table.rows.front().cells.emplace_back("", std::move(value));
  };
  const auto& run = planned.cell.run;
  add("cell", planned.cell.label);
  add("run_id", planned.cell.run_id);
  add("state", std::string(spec::enum_name(planned.state)));
  add("reason", planned.reason);
  add("devices", run.mesh.devices());
  if (!planned.bf16_weights_because.empty()) {
    add("bf16_weights", std::string(spec::enum_name(run.bf16_weights)));
    add("bf16_weights_because", planned.bf16_weights_because);
  }
  if (!planned.counts) return table;
  const auto& counts = *planned.counts;
  add("parameters", counts.parameters);
  add("rank", counts.rank);
  add("needed_bytes", planned.memory_needed_bytes);
  add("available_bytes", planned.memory_available_bytes == 0 ? Value() : Value(planned.memory_available_bytes));
  add("peak_bytes", counts.peak.total_bytes);
  add("peak_phase", counts.peak_at.phase);
  add("peak_range", counts.peak_at.range);
  add("peak_tensor", counts.peak_at.tensor);
  add("offloaded_bytes", counts.offloaded_bytes);
  add("bubble_fraction", counts.bubble_fraction);
  return table;
}

// The memory that is in use at the peak, by scope, and other memory that is needed. The parts sum to the need of the
// rank.
Table memory_table(const PlannedCell& planned) {
  Table table{.key = "memory",
              .columns = {text_column("Part", "part"), number_column("Bytes", "bytes"),
                          number_column("Of capacity", "capacity_fraction"), text_column("Which is", "meaning")},
              .rows = {}};
  const auto& counts = *planned.counts;
  const auto add = [&](std::string_view part, int64_t bytes, std::string_view meaning) {
    table.rows.push_back({.cells = {std::string(part), size_cell(bytes),
                                    share_cell(bytes, planned.memory_available_bytes), std::string(meaning)}});
  };
  std::map<std::string, int64_t> of_scope;
  for (const auto& group : counts.largest) of_scope[group.scope] += group.bytes;
  auto add_scope = [&](const spec::Field& field, const int64_t&) {
    const auto scope = field.name.substr(0, field.name.rfind('_'));
    if (const auto found = of_scope.find(std::string(scope)); found != of_scope.end())
      add(scope, found->second, field.help);
  };
  spec::MemoryPeaks::fields(counts.peak, add_scope);
  const auto needed = spec::needed_bytes(counts);
  add("gaps", needed - counts.peak.total_bytes, "between tensors, in the allocator's arena");
  add("needed", needed, "the sum");
  return table;
}

struct Alive {
  int64_t tensors = 0;
  int64_t bytes = 0;
};

// Sums over the tensors of all layers whose name without the layer is one of these.
Alive alive(const std::vector<spec::TensorGroup>& groups, const std::vector<std::string>& names) {
  Alive out;
  for (const auto& group : groups) {
    if (std::ranges::find(names, group.name) == names.end()) continue;
    out.tensors += group.tensors;
    out.bytes += group.bytes;
  }
  return out;
}

std::string place_text(spec::SavePlace place) {
  switch (place) {
    case spec::SavePlace::device:
      return "saved";
    case spec::SavePlace::remat:
      return "recomputed";
    case spec::SavePlace::offload:
      return "offloaded";
  }
  return "?";
}

Table intermediates_table(const spec::DryCounts& counts) {
  Table table{.key = "intermediates",
              .columns = {text_column("Value", "value"), text_column("Tensor", "tensor"), text_column("Is", "place"),
                          number_column("Each", "bytes"), number_column("Per step", "times"),
                          number_column("At the peak", "alive_tensors"), number_column("Bytes then", "alive_bytes"),
                          number_column("On the host", "host_bytes")},
              .rows = {}};
  const auto on_host = spec::group_tensors(counts.host_at_peak);
  for (const auto& kind : counts.intermediates) {
    const auto name = "layers.*." + kind.tensor;
    const auto here = alive(counts.largest, {name, name + std::string(spec::kFetched)});
    const auto there = alive(on_host, {name + std::string(spec::kOnHost)});
    table.rows.push_back(
        {.cells = {kind.value, kind.tensor, place_text(kind.place), size_cell(kind.bytes), count_cell(kind.times),
                   count_cell(here.tensors), size_cell(here.bytes), size_cell(there.bytes)}});
  }
  return table;
}

Row alternative_row(const std::string& change, const PlannedCell& planned) {
  const auto& run = planned.cell.run;
  const auto& counts = *planned.counts;
  return {.cells = {change, size_cell(planned.memory_needed_bytes),
                    size_cell(std::max<int64_t>(planned.memory_available_bytes - planned.memory_needed_bytes, 0)),
                    share_cell(counts.flops.rematerialised_flops, counts.flops.executed_flops()),
                    count_cell(run.mesh.devices()), size_cell(sent_bytes(counts)), size_cell(counts.offloaded_bytes),
                    count_cell(run.grad_accum), count_cell(run.microbatch())}};
}

// The cell itself comes first: the cost of a change is the difference from it.
Table alternatives_table(const Explanation& explanation) {
  Table table{.key = "alternatives",
              .columns = {text_column("Change", "change"), number_column("Memory", "needed_bytes"),
                          number_column("Free", "free_bytes"), number_column("Recomputed", "recomputed_fraction"),
                          number_column("Devices", "devices"), number_column("Sent/step", "sent_bytes"),
                          number_column("To host/step", "offloaded_bytes"), number_column("Microbatches", "grad_accum"),
                          number_column("Sequences each", "microbatch")},
              .rows = {}};
  if (explanation.alternatives.empty() && !explanation.smallest) return table;
  table.rows.push_back(alternative_row("(unchanged)", explanation.cell));
  const auto shown = std::min(explanation.alternatives.size(), kAlternativesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& planned = explanation.alternatives[i].planned;
    table.rows.push_back(alternative_row(planned.cell.label, planned));
  }
  if (explanation.smallest) {
    const auto& planned = explanation.smallest->planned;
    table.rows.push_back(alternative_row(planned.cell.label, planned));
  }
  return table;
}

void add_alternatives(Document& out, const Explanation& explanation) {
  const auto& cell = explanation.cell;
  if (cell.memory_available_bytes == 0) return;
  const bool fits = cell.state == PlanState::feasible;
  add_explained(out, fits ? "Policies that recompute less, and fit" : "Closest cells that fit",
                alternatives_table(explanation));
  const auto found = explanation.alternatives.size();
  if (explanation.smallest) {
    out.add(
        Note{fmt::format("No cell fits among {} that differ in a remat policy, fsdp_prefetch, grad_accum or the mesh, "
                         "or in two of these that each reduce memory. The table shows the one that needs least.",
                         explanation.tried)});
  } else if (found > 0) {
    out.add(
        Note{fmt::format("{} of {} tried, {}. Amounts are for one device and step: recomputed FLOPs as a share of all, "
                         "bytes sent to other devices and to the host. Excluded cells of the matrix were not tried.",
                         found, explanation.tried,
                         found > kAlternativesShown ? fmt::format("the first {} shown", kAlternativesShown)
                                                    : "smallest change and cost first")});
  }
}

// A row for each field of a field list: its name, its amount and its description.
template <class T>
Table amounts(const char* key, const char* amount, const T& value, Cell (*cell)(int64_t)) {
  Table table{
      .key = key,
      .columns = {text_column("Of", "name"), number_column("Amount", amount), text_column("Which is", "meaning")},
      .rows = {}};
  auto add = [&](const spec::Field& field, const int64_t& count) {
    table.rows.push_back({.cells = {std::string(field.name), cell(count), std::string(field.help)}});
  };
  T::fields(value, add);
  return table;
}

Table collectives_table(const std::vector<spec::AxisTraffic>& traffic) {
  Table table{.key = "collectives",
              .columns = {text_column("Axis", "axis"), text_column("Collective", "collective"),
                          number_column("Messages", "messages"), number_column("Payload", "payload_bytes"),
                          number_column("Sent", "sent_bytes")},
              .rows = {}};
  for (const auto& entry : traffic) {
    table.rows.push_back({.cells = {entry.axis, entry.collective, count_cell(entry.messages),
                                    size_cell(entry.payload_bytes), size_cell(entry.sent_bytes)}});
  }
  return table;
}

Table stages_table(const spec::DryCounts& counts) {
  Table table{.key = "stages",
              .columns = {text_column("Stage", "stage"),
                          number_column("Rank", "rank"),
                          number_column("Layers", "layers"),
                          number_column("Memory", "needed_bytes"),
                          number_column("Weights", "weights_bytes"),
                          number_column("Activations", "activations_bytes"),
                          number_column("Gathered", "gathered_bytes"),
                          number_column("FLOP", "model_flops"),
                          number_column("Recomputed", "rematerialised_flops"),
                          {.title = "Sent", .key = "sent", .audience = Audience::people}},
              .rows = {}};
  for (const auto& stage : counts.stages) {
    const auto name = fmt::format("{}{}", stage.stage, stage.rank == counts.rank ? " (most)" : "");
    table.rows.push_back({.cells = {{name, stage.stage},
                                    count_cell(stage.rank),
                                    count_cell(stage.layers),
                                    size_cell(spec::needed_bytes(stage)),
                                    size_cell(stage.peak.weights_bytes),
                                    size_cell(stage.peak.activations_bytes),
                                    size_cell(stage.peak.gathered_bytes),
                                    large_count_cell(stage.flops.model_flops()),
                                    large_count_cell(stage.flops.rematerialised_flops),
                                    traffic_text(stage.traffic)}});
  }
  return table;
}

// The memory of every stage's device, in the order of the pipeline.
Table stage_tensors_table(const spec::DryCounts& counts) {
  Table table{.key = "stage_tensors",
              .columns = {number_column("Stage", "stage"), number_column("Rank", "rank"), text_column("Scope", "scope"),
                          text_column("Tensor", "tensor"), number_column("Count", "tensors"),
                          number_column("Bytes", "bytes"), number_column("Share of the stage's peak", "peak_fraction")},
              .rows = {}};
  for (const auto& stage : counts.stages) {
    for (const auto& group : stage.largest) {
      table.rows.push_back({.cells = {count_cell(stage.stage), count_cell(stage.rank), group.scope, group.name,
                                      count_cell(group.tensors), size_cell(group.bytes),
                                      share_cell(group.bytes, stage.peak.total_bytes)}});
    }
  }
  return table;
}

std::string capacity_text(const PlannedCell& planned) {
  const auto available = planned.memory_available_bytes;
  const auto needed = planned.memory_needed_bytes;
  if (available == 0) return "the memory of a device is unknown";
  return fmt::format("{} available, {} {}", human_bytes(available), human_bytes(std::abs(available - needed)),
                     needed <= available ? "to spare" : "too little");
}

void add_summary(Document& out, const PlannedCell& planned) {
  const auto& counts = *planned.counts;
  const auto* stage = worst_stage(counts);
  out.add(Paragraph{fmt::format("{} devices, {} parameters, remat {}; rank {}{} needs most: {} per device, {}",
                                planned.cell.run.mesh.devices(), count_text(counts.parameters), planned.cell.run.remat,
                                counts.rank, stage == nullptr ? "" : fmt::format(", of stage {},", stage->stage),
                                human_bytes(planned.memory_needed_bytes), capacity_text(planned))});
  if (!planned.bf16_weights_because.empty()) {
    out.add(Paragraph{fmt::format("bf16_weights: {}, chosen by the plan: {}",
                                  spec::enum_name(planned.cell.run.bf16_weights), planned.bf16_weights_because)});
  }
  out.add(
      Paragraph{fmt::format("Peak: {} alive{}", human_bytes(counts.peak.total_bytes), moment_text(counts.peak_at))});
}

}  // namespace

Document explanation_document(const Explanation& explanation) {
  const auto& planned = explanation.cell;
  Document out;
  out.add(Heading{.level = kTitle, .text = label_of(planned)});
  out.add(Paragraph{fmt::format("run {}", planned.cell.run_id)});
  const auto tone = planned.state == PlanState::feasible ? Tone::plain : Tone::doubtful;
  out.add(Paragraph{
      fmt::format("{}{}{}", spec::enum_name(planned.state), planned.reason.empty() ? "" : ": ", planned.reason), tone});
  out.add(cell_table(planned));
  if (!planned.counts || planned.counts->peak.total_bytes == 0) return out;
  const auto& counts = *planned.counts;
  add_summary(out, planned);
  add_explained(out, "Memory of this device at the peak", memory_table(planned));
  out.add(stages_chart(planned));
  if (auto course = course_chart(counts); !course.series[0].points.empty()) out.add(std::move(course));
  add_alternatives(out, explanation);
  add_explained(out, "Values that a layer's backward pass reads", intermediates_table(counts));
  add_explained(out, "Tensors in use at the peak", tensors_table(counts));
  out.add(Note{fmt::format("In all {} bytes.", counts.peak.total_bytes)});
  if (!counts.stages.empty()) {
    add_explained(out, "Stages", stages_table(counts));
    out.add(Note{fmt::format("If the stages were equal, {:.1f} % of their time would be waiting.",
                             100 * counts.bubble_fraction)});
    add_explained(out, "Largest tensors at the peak of each stage", stage_tensors_table(counts));
  }
  add_explained(out, "FLOP of one device and step", amounts("flops", "flops", counts.flops, count_cell));
  add_explained(out, "Collectives of one device and step", collectives_table(counts.traffic));
  return out;
}

}  // namespace perfbench::reports
