// The table for people; plan_export.cpp has the forms for programs.
#include "harness/plan/plan_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "harness/plan/plan_export.h"
#include "reports/format/escaped_text.h"
#include "reports/format/quantity.h"

namespace perfbench::harness {
namespace {

using reports::human_bytes;
using reports::human_count;
using reports::Plain;
using Row = std::vector<std::string>;

Row shown_row(Row row) {
  for (auto& text : row) text = reports::shown(text);
  return row;
}

// Columns as wide as their widest entry; numbers, the columns from `first_number` to the last but one, to the right.
class Columns {
 public:
  explicit Columns(std::size_t first_number) : first_number_(first_number) {}

  void make_room_for(const Row& row) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths_[c] = std::max(widths_[c], row[c].size());
  }

  std::string line(const Row& row) const {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string room(widths_[c] - row[c].size(), ' ');
      const bool is_number = c >= first_number_ && c + 1 < row.size();
      line += c == 0 ? "" : "  ";
      line += is_number ? room + row[c] : row[c] + room;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

 private:
  std::size_t first_number_;
  std::vector<std::size_t> widths_;
};

std::string aligned(std::vector<Row> rows, std::size_t first_number) {
  for (auto& row : rows) row = shown_row(std::move(row));
  Columns columns(first_number);
  for (const auto& row : rows) columns.make_room_for(row);
  std::string out;
  for (const auto& row : rows) out += columns.line(row);
  return out;
}

std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic) {
  std::map<std::string, std::int64_t> sent;
  for (const auto& entry : traffic) sent[entry.axis] += entry.sent_bytes;
  std::string out;
  for (const auto& [axis, bytes] : sent) {
    if (bytes > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis, human_bytes(bytes));
  }
  return out.empty() ? "-" : out;
}

Row heading() {
  return {"CELL",        "STATE",    "DEVICES",   "PARAMETERS", "MEMORY/DEVICE", "WEIGHTS",   "GRADIENTS", "OPTIMIZER",
          "ACTIVATIONS", "GATHERED", "WORKSPACE", "FLOP/STEP",  "RECOMPUTED",    "SENT/STEP", "REASON"};
}

Row row_of(const PlannedCell& planned) {
  const auto& cell = planned.cell;
  Row row{cell.label.empty() ? "(defaults)" : cell.label, std::string(spec::enum_name(planned.state)),
          std::to_string(cell.run.mesh.devices())};
  if (planned.counts && planned.counts->peak.total_bytes > 0) {
    const auto& counts = *planned.counts;
    row.push_back(human_count(static_cast<double>(counts.parameters)));
    for (const auto bytes : {spec::needed_bytes(cell.run, counts), counts.peak.weights_bytes,
                             counts.peak.gradients_bytes, counts.peak.optimizer_bytes, counts.peak.activations_bytes,
                             counts.peak.gathered_bytes, counts.peak.workspace_bytes}) {
      row.push_back(human_bytes(bytes));
    }
    row.push_back(human_count(static_cast<double>(counts.flops.model_flops())));
    row.push_back(human_count(static_cast<double>(counts.flops.rematerialised_flops)));
    row.push_back(traffic_text(counts.traffic));
  } else {
    row.resize(heading().size() - 1, "-");
  }
  row.push_back(planned.reason);
  return shown_row(std::move(row));
}

std::string summary(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  std::map<PlanState, std::size_t> count;
  for (const auto& planned : plan) ++count[planned.state];
  auto out = Plain::format("{}: {} cells", matrix, plan.size());
  for (const auto& [state, cells] : count) out += Plain::format(", {} {}", cells, spec::enum_name(state));
  return out.text() +
         ". Memory (with the allocator's gaps; the parts at their own peaks) and FLOP of one device "
         "and step; sent: bytes per step by mesh axes and level.\n";
}

std::string flops_text(const spec::FlopCounts& flops) {
  std::vector<Row> rows;
  auto add = [&rows](const spec::Field& field, const std::int64_t& value) {
    rows.push_back({"  " + std::string(field.name), human_count(static_cast<double>(value)), std::string(field.help)});
  };
  spec::FlopCounts::fields(flops, add);
  return aligned(rows, 1);
}

std::string peaks_text(const spec::MemoryPeaks& peaks) {
  std::vector<Row> rows;
  auto add = [&rows](const spec::Field& field, const std::int64_t& value) {
    rows.push_back({"  " + std::string(field.name), human_bytes(value), std::string(field.help)});
  };
  spec::MemoryPeaks::fields(peaks, add);
  return aligned(rows, 1);
}

std::string collectives_text(const std::vector<spec::AxisTraffic>& traffic) {
  std::vector<Row> rows{{"  AXIS", "COLLECTIVE", "MESSAGES", "PAYLOAD", "SENT", ""}};
  for (const auto& entry : traffic) {
    rows.push_back({"  " + entry.axis, entry.collective, std::to_string(entry.messages),
                    human_bytes(entry.payload_bytes), human_bytes(entry.sent_bytes), ""});
  }
  return rows.size() == 1 ? "  none\n" : aligned(rows, 2);
}

std::string stages_text(const spec::RunSpec& run, const spec::DryCounts& counts) {
  std::vector<Row> rows{
      {"  STAGE", "RANK", "LAYERS", "MEMORY", "WEIGHTS", "ACTIVATIONS", "GATHERED", "FLOP", "RECOMPUTED", "SENT"}};
  for (const auto& stage : counts.stages) {
    Row row{fmt::format("  {}{}", stage.stage, stage.rank == counts.rank ? " (most)" : "")};
    for (const auto number : {stage.rank, stage.layers}) row.push_back(std::to_string(number));
    for (const auto bytes : {spec::needed_bytes(run, stage), stage.peak.weights_bytes, stage.peak.activations_bytes,
                             stage.peak.gathered_bytes}) {
      row.push_back(human_bytes(bytes));
    }
    for (const auto flops : {stage.flops.model_flops(), stage.flops.rematerialised_flops}) {
      row.push_back(human_count(static_cast<double>(flops)));
    }
    row.push_back(traffic_text(stage.traffic));
    rows.push_back(std::move(row));
  }
  return aligned(rows, 1);
}

std::string tensors_text(const std::vector<spec::TensorGroup>& groups) {
  std::vector<Row> rows{{"  SCOPE", "TENSOR", "DTYPE", "LOCAL SHAPE", "COUNT", "BYTES", ""}};
  for (const auto& group : groups) {
    rows.push_back({"  " + group.scope, group.name, group.dtype, group.shape, std::to_string(group.tensors),
                    human_bytes(group.bytes), ""});
  }
  return aligned(rows, 4);
}

}  // namespace

// The rows are made twice, for their widths and for their text: all of them at once would be larger than the plan.
void write_plan(const std::string& matrix, const std::vector<PlannedCell>& plan, PlanFormat format,
                const WritePlan& write) {
  if (format == PlanFormat::json) return write_plan_json(matrix, plan, write);
  if (format == PlanFormat::csv) return write_plan_csv(matrix, plan, write);
  Columns columns(2);
  columns.make_room_for(heading());
  for (const auto& planned : plan) columns.make_room_for(row_of(planned));
  write(columns.line(heading()));
  for (const auto& planned : plan) write(columns.line(row_of(planned)));
  write(summary(matrix, plan));
}

std::string render_plan(const std::string& matrix, const std::vector<PlannedCell>& plan, PlanFormat format) {
  std::string out;
  write_plan(matrix, plan, format, [&out](std::string_view text) { out += text; });
  return out;
}

std::string render_plan_details(const PlannedCell& planned, PlanFormat format) {
  if (format != PlanFormat::table) return render_plan(planned.cell.matrix, {planned}, format);
  const auto& cell = planned.cell;
  std::string out = Plain::format("{}\n  run {}\n  {}{}\n", cell.label.empty() ? "(defaults)" : cell.label, cell.run_id,
                                  spec::enum_name(planned.state), planned.reason.empty() ? "" : ": " + planned.reason);
  if (!planned.counts) return out;
  const auto& counts = *planned.counts;
  out += fmt::format("  {} devices, {} parameters\n", cell.run.mesh.devices(),
                     human_count(static_cast<double>(counts.parameters)));
  out += fmt::format("  {} needed per device, {} of it alive at the peak, {} available\n",
                     human_bytes(spec::needed_bytes(cell.run, counts)), human_bytes(counts.peak.total_bytes),
                     planned.memory_available_bytes == 0 ? "unknown" : human_bytes(planned.memory_available_bytes));
  if (!counts.stages.empty()) {
    out += fmt::format("Stages, {:.1f} % of their time waiting were they equal; below, the one that needs most\n",
                       100 * counts.bubble_fraction) +
           stages_text(cell.run, counts);
  }
  out += "Memory of one device, each scope at its own peak\n" + peaks_text(counts.peak);
  out += "FLOP of one device and step\n" + flops_text(counts.flops);
  out += "Collectives of one device and step\n" + collectives_text(counts.traffic);
  out += "Tensors alive at the peak\n" + tensors_text(counts.largest);
  return out;
}

}  // namespace perfbench::harness
