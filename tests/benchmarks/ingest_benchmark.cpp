// How many step rows a second ingest takes in, from run directories on disk to committed rows. The store is meant to
// hold 10^8 of them; the goal is 10^5 a second on one core.
#include <benchmark/benchmark.h>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/step_line.h"

namespace perfbench::harness {
namespace {

ExampleRun long_run(std::int64_t number, std::size_t steps) {
  ExampleRun example{.attempt = example_attempt("c", number)};
  example.step_s.assign(steps, 0.123456789);
  return example;
}

// One attempt of range(0) steps: the cost of a row.
void ingest_one_long_attempt(benchmark::State& state) {
  ScratchFolder scratch;
  write_run_directory(scratch / "r", long_run(1, static_cast<std::size_t>(state.range(0))));
  int round = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto db = open_database(scratch / ("a" + std::to_string(round++) + ".db"));
    state.ResumeTiming();
    ingest_run_directory(db, scratch / "r");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ingest_one_long_attempt)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// 200 attempts of range(0) steps each: the cost of an attempt.
void ingest_many_short_attempts(benchmark::State& state) {
  constexpr std::int64_t kAttempts = 200;
  ScratchFolder scratch;
  for (std::int64_t i = 1; i <= kAttempts; ++i) {
    write_run_directory(scratch / "runs" / std::to_string(i), long_run(i, static_cast<std::size_t>(state.range(0))));
  }
  int round = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto db = open_database(scratch / ("a" + std::to_string(round++) + ".db"));
    state.ResumeTiming();
    ingest_tree(db, scratch / "runs");
  }
  state.SetItemsProcessed(state.iterations() * kAttempts * state.range(0));
  state.counters["attempts_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kAttempts), benchmark::Counter::kIsRate);
}
BENCHMARK(ingest_many_short_attempts)->Arg(20)->Arg(100)->Unit(benchmark::kMillisecond);

void parse_a_step_line(benchmark::State& state) {
  const auto line = spec::to_json_line(spec::StepRecord{});
  spec::StepLineReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.read(line).step);
}
BENCHMARK(parse_a_step_line);

void parse_a_step_line_by_the_general_parser(benchmark::State& state) {
  const auto line = spec::to_json_line(spec::StepRecord{});
  for (auto _ : state) benchmark::DoNotOptimize(spec::parse_step_record(line).step);
}
BENCHMARK(parse_a_step_line_by_the_general_parser);

// An array of range(0) objects, which other programs may have written: the time must be proportional to their number.
void parse_many_objects(benchmark::State& state) {
  std::string text = "[{\"a\":1}";
  for (std::int64_t i = 1; i < state.range(0); ++i) text += ",{\"a\":1}";
  text += "]";
  for (auto _ : state) benchmark::DoNotOptimize(spec::parse_json(text).size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(parse_many_objects)->RangeMultiplier(10)->Range(1000, 1'000'000)->Complexity()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace perfbench::harness
