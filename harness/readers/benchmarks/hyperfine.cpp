// hyperfine: seconds of whole commands, without warm-ups. The time of the shell's start is already subtracted, so a
// command that is as quick as that takes 0 s.
#include <algorithm>

#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

// An exit code of null means that a signal ended the command.
void judge_exits(const Json& result, BenchmarkRow& row) {
  const auto* codes = member_of(result, "exit_codes");
  if (codes == nullptr || !codes->is_array()) return;
  const auto killed = std::ranges::count_if(*codes, [](const Json& code) { return code.is_null(); });
  const auto failed = std::ranges::count_if(*codes, [](const Json& code) { return code.is_number() && code != 0; });
  if (killed + failed == 0) return;
  row.state = killed > 0 ? RowState::failed : RowState::doubtful;
  row.reason = std::to_string(killed > 0 ? killed : failed) + " of " + std::to_string(codes->size()) + " runs ended " +
               (killed > 0 ? "by a signal" : "with another exit code than 0");
}

void judge_times(BenchmarkRow& row) {
  const auto& times = row.samples["step_time_s"];
  const auto zeros = std::ranges::count(times, 0.0);
  if (zeros == 0) return;
  row.state = RowState::doubtful;
  row.reason = std::to_string(zeros) + " of " + std::to_string(times.size()) +
               " times are 0: the command is as quick as the start of the shell; use hyperfine -N";
}

BenchmarkRow command_row(const Json& result) {
  BenchmarkRow row{.name = wanted_text(result, "command")};
  if (const auto* parameters = member_of(result, "parameters"); parameters != nullptr && parameters->is_object()) {
    for (const auto& [name, value] : parameters->items()) row.axes[name] = parameter_text(value);
  }
  if (auto times = numbers_in(result, "times"); !times.empty()) {
    row.samples["step_time_s"] = std::move(times);
    judge_times(row);
  } else {
    const bool has_median = number_in(result, "median").has_value();
    row.statistic = has_median ? "median" : "mean";
    row.averages["step_time_s"] = wanted_number(result, row.statistic);
  }
  if (auto bytes = numbers_in(result, "memory_usage_byte"); !bytes.empty()) {
    row.samples["resident_bytes"] = std::move(bytes);
  }
  if (const auto user = number_in(result, "user")) {
    row.averages["cpu_time_s"] = *user + number_in(result, "system").value_or(0);
  }
  judge_exits(result, row);
  return row;
}

}  // namespace

BenchmarkFile read_hyperfine(const BenchmarkSource& source) {
  BenchmarkFile file{.facts = {.suite = "hyperfine"}, .rows = {}, .notes = {}};
  read_pieces(source, {"/results/*"},
              [&file](const spec::JsonPiece& piece) { file.rows.push_back(command_row(piece.value)); });
  return file;
}

}  // namespace perfbench::readers
