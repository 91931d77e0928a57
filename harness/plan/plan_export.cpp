#include "harness/plan/plan_export.h"

#include <map>
#include <set>

#include "harness/execute/container.h"
#include "harness/execute/launcher.h"
#include "harness/system/place_names.h"
#include "reports/render/format/escape.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

using spec::Json;

Json cell_json(const PlannedCell& planned) {
  const auto& cell = planned.cell;
  Json axes = Json::object();
  for (const auto& [name, value] : cell.axes) axes[name] = value;
  Json out{{"cell", cell.label},           {"axes", axes},
           {"run_id", cell.run_id},        {"state", spec::enum_name(planned.state)},
           {"reason", planned.reason},     {"repeats", cell.repeats},
           {"model", cell.run.model.name}, {"devices", cell.run.mesh.devices()}};
  if (cell.run.program && planned.state == PlanState::feasible) {
    const auto program = readable_program(cell.run.program->spec);
    out["command"] = program.command;
    out["env"] = program.env;
    out["workdir"] = program.workdir;
  }
  if (!planned.counts) return out;
  if (!planned.bf16_weights_because.empty()) {
    out["bf16_weights"] = spec::enum_name(cell.run.bf16_weights);
    out["bf16_weights_because"] = planned.bf16_weights_because;
  }
  const auto& counts = *planned.counts;
  out["parameters"] = counts.parameters;
  out["matmul_parameters"] = counts.matmul_parameters;
  out["memory_available_bytes"] = planned.memory_available_bytes;
  out["memory_needed_bytes"] = spec::needed_bytes(counts);
  out["arena_bytes"] = counts.arena_bytes;
  out["offloaded_bytes"] = counts.offloaded_bytes;
  out["peak_at"] = spec::fields_to_json(counts.peak_at, spec::Written::whole);
  out["peak"] = spec::fields_to_json(counts.peak, spec::Written::whole);
  out["flops"] = spec::fields_to_json(counts.flops, spec::Written::whole);
  // Leaves out the times, which only a run has.
  out["traffic"] = spec::value_to_json(counts.traffic, spec::Written::canonical);
  if (!counts.stages.empty()) {
    out["rank"] = counts.rank;
    out["bubble_fraction"] = counts.bubble_fraction;
    out["stages"] = spec::value_to_json(counts.stages, spec::Written::canonical);
  }
  out["largest"] = spec::value_to_json(counts.largest, spec::Written::whole);
  if (!counts.live_at_peak.empty())
    out["live_at_peak"] = spec::value_to_json(counts.live_at_peak, spec::Written::whole);
  return out;
}

// Indented as a part of the list of cells. A line break in text is escaped, so every line break starts a new line of
// JSON.
std::string indented(const Json& cell) {
  std::string out;
  for (const char c : reports::with_escapes(cell.dump(1, ' ', false, Json::error_handler_t::replace))) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

class CsvLine {
 public:
  CsvLine& operator<<(const std::string& value) {
    line_ += (line_.empty() ? "" : ",") + reports::csv_field(value);
    return *this;
  }
  std::string finish() const { return line_ + "\r\n"; }

 private:
  std::string line_;
};

// One visitor writes the heading and another one the values, from the same field list.
template <class T>
void write_names(CsvLine& line, const std::string& prefix) {
  const T value{};
  auto write = [&](const spec::Field& field, const std::int64_t&) { line << prefix + std::string(field.name); };
  T::fields(value, write);
}
template <class T>
void write_values(CsvLine& line, const T& value) {
  auto write = [&](const spec::Field&, const std::int64_t& member) { line << std::to_string(member); };
  T::fields(value, write);
}

std::set<std::string> traffic_axes(const std::vector<PlannedCell>& plan) {
  std::set<std::string> axes;
  for (const auto& planned : plan) {
    if (!planned.counts) continue;
    for (const auto& entry : planned.counts->traffic) axes.insert(entry.axis);
  }
  return axes;
}

}  // namespace

spec::ProgramSpec readable_program(const spec::ProgramSpec& program) {
  auto out = program;
  const auto fill = [](std::string& text) {
    text = fill_all(text, [](const std::string& name) { return std::optional("{" + name + "}"); });
  };
  for_each_template(out, fill);
  const auto launcher = rank_command(out);
  out.command.insert(out.command.begin(), launcher.begin(), launcher.end());
  if (!out.container.image.empty()) {
    const auto container = container_command(out, "{run_dir}", "perfbench-{run}");
    out.command.insert(out.command.begin(), container.begin(), container.end());
  }
  return out;
}

std::string program_line(const spec::ProgramSpec& program) {
  const auto shown = readable_program(program);
  std::string out;
  for (const auto& [name, value] : shown.env) out += name + "=" + reports::shell_word(value) + " ";
  for (const auto& word : shown.command) {
    out += (&word == shown.command.data() ? "" : " ") + reports::shell_word(word);
  }
  return out;
}

void write_plan_json(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write) {
  write("{\n \"cells\": [");
  for (const auto& planned : plan) write((&planned == plan.data() ? "\n  " : ",\n  ") + indented(cell_json(planned)));
  write("\n ],\n \"matrix\": " + reports::with_escapes(spec::json_line(matrix)) + "\n}\n");
}

void write_plan_csv(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write) {
  const auto axes = traffic_axes(plan);
  CsvLine heading;
  for (const auto* name : {"matrix", "cell", "run_id", "model", "devices", "state", "reason", "bf16_weights",
                           "bf16_weights_because", "parameters", "matmul_parameters", "memory_available_bytes",
                           "memory_needed_bytes", "arena_bytes", "rank", "bubble_fraction"}) {
    heading << name;
  }
  write_names<spec::MemoryPeaks>(heading, "peak_");
  write_names<spec::FlopCounts>(heading, "");
  for (const auto& axis : axes) heading << axis + "_sent_bytes";
  heading << "command";
  write(heading.finish());
  for (const auto& planned : plan) {
    const auto& cell = planned.cell;
    CsvLine line;
    line << matrix << cell.label << cell.run_id << cell.run.model.name << std::to_string(cell.run.mesh.devices())
         << std::string(spec::enum_name(planned.state)) << planned.reason
         << std::string(planned.bf16_weights_because.empty() ? "" : spec::enum_name(cell.run.bf16_weights))
         << planned.bf16_weights_because;
    if (planned.counts) {
      const auto& counts = *planned.counts;
      line << std::to_string(counts.parameters) << std::to_string(counts.matmul_parameters)
           << std::to_string(planned.memory_available_bytes) << std::to_string(spec::needed_bytes(counts))
           << std::to_string(counts.arena_bytes) << std::to_string(counts.rank)
           << spec::json_line(counts.bubble_fraction);
      write_values(line, counts.peak);
      write_values(line, counts.flops);
      std::map<std::string, std::int64_t> sent;
      for (const auto& entry : counts.traffic) sent[entry.axis] += entry.sent_bytes;
      for (const auto& axis : axes) line << std::to_string(sent[axis]);
    } else {
      const auto empty_columns = 7 + spec::field_names<spec::MemoryPeaks>().size() +
                                 spec::field_names<spec::FlopCounts>().size() + axes.size();
      for (std::size_t i = 0; i < empty_columns; ++i) line << "";
    }
    const bool starts_program = cell.run.program && planned.state == PlanState::feasible;
    line << (starts_program ? program_line(cell.run.program->spec) : "");
    write(line.finish());
  }
}

}  // namespace perfbench::harness
