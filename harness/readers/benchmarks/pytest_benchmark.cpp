// pytest-benchmark: seconds for each call. The samples, `data`, are in files of --benchmark-json, and in saved ones
// with --benchmark-save-data. Benchmarks that failed are not in the file at all.
#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

BenchmarkRow benchmark_row(const Json& benchmark) {
  BenchmarkRow row{.name = wanted_text(benchmark, "fullname")};
  const auto* stats = member_of(benchmark, "stats");
  if (stats == nullptr) {
    row.state = RowState::failed;
    row.reason = "it has no stats";
    return row;
  }
  if (auto times = numbers_in(*stats, "data"); !times.empty()) {
    row.samples["step_time_s"] = std::move(times);
    return row;
  }
  const auto median = number_in(*stats, "median");
  row.statistic = median ? "median" : "mean";
  const auto average = median ? median : number_in(*stats, "mean");
  if (!average) refuse("stats", "it has neither data nor a median nor a mean");
  row.averages["step_time_s"] = *average;
  return row;
}

void take_machine(const Json& machine, BenchmarkFacts& facts) {
  facts.hostname = text_in(machine, "node");
  facts.os = text_in(machine, "system");
  facts.kernel = text_in(machine, "release");
  if (const auto python = text_in(machine, "python_version"); !python.empty()) facts.libraries["python"] = python;
  const auto* cpu = member_of(machine, "cpu");
  if (cpu == nullptr) return;
  facts.cpu_model = text_in(*cpu, "brand_raw");
  facts.cpus = count_in(*cpu, "count");
}

void take_commit(const Json& commit, BenchmarkFacts& facts) {
  if (const auto id = text_in(commit, "id"); is_commit(id)) facts.git_commit = id;
  facts.git_dirty = flag_in(commit, "dirty");
}

}  // namespace

BenchmarkFile read_pytest_benchmark(const BenchmarkSource& source) {
  BenchmarkFile file{.facts = {.suite = "pytest"}, .rows = {}, .notes = {}};
  const auto take = [&file](const spec::JsonPiece& piece) {
    if (piece.pattern == 0) file.rows.push_back(benchmark_row(piece.value));
    if (piece.pattern == 1) take_machine(piece.value, file.facts);
    if (piece.pattern == 2) take_commit(piece.value, file.facts);
    if (piece.pattern == 3 && piece.value.is_string()) file.facts.started_utc = utc_of(piece.value.get<std::string>());
  };
  read_pieces(source, {"/benchmarks/*", "/machine_info", "/commit_info", "/datetime"}, take);
  return file;
}

}  // namespace perfbench::readers
