// Files typed from the descriptions of the formats. Each test is about something that a reader of the format gets wrong
// easily.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "harness/readers/benchmarks/benchmark_formats.h"
#include "harness/readers/benchmarks/utc_text.h"
#include "tests/harness/readers/read_text.h"

namespace perfbench::readers {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using SideTexts = std::map<std::string, std::string>;

BenchmarkFile read(std::string_view format, std::string_view text, const SideTexts& beside = {}) {
  const auto side_files = [beside](const std::string& path) -> std::optional<std::string> {
    const auto found = beside.find(path);
    return found == beside.end() ? std::nullopt : std::optional(found->second);
  };
  return read_benchmarks(*find_benchmark_format(format), {.bytes = spec::bytes_of(text), .side_files = side_files});
}

std::string error_in(std::string_view format, std::string_view text, const SideTexts& beside = {}) {
  try {
    read(format, text, beside);
  } catch (const BenchmarkError& e) {
    return e.what();
  }
  return "no error";
}

std::string google(const std::string& rows, const std::string& context = R"("library_build_type": "release")") {
  return R"({"context": {"date": "2026-11-27T03:00:00+01:00", "host_name": "node1", "executable": "./build/sort_bench",
 "num_cpus": 8, "load_avg": [1.5, 1, 1], )" +
         context + "},\n\"benchmarks\": [\n" + rows + "\n]}";
}

std::string google_row(const std::string& more) {
  return R"({"name": "BM_Sort/64", "run_name": "BM_Sort/64", "run_type": "iteration", "repetitions": 3, "threads": 1,)" +
         more + "}";
}

TEST(GoogleBenchmark, TakesRepetitionsAsSamplesInTheUnitOfTheirRow) {
  const auto file = read("google-benchmark",
                         google(google_row(R"("iterations": 9, "real_time": 2.5, "cpu_time": 2, "time_unit": "us")") +
                                "," + google_row(R"("real_time": 2600, "cpu_time": 2100, "time_unit": "ns")")));
  ASSERT_EQ(file.rows.size(), 1U);
  const auto& row = file.rows.front();
  EXPECT_EQ(row.name, "BM_Sort/64");
  EXPECT_THAT(row.samples.at("step_time_s"), ElementsAre(DoubleEq(2.5e-6), DoubleEq(2.6e-6)));
  EXPECT_THAT(row.samples.at("cpu_time_s"), ElementsAre(DoubleEq(2e-6), DoubleEq(2.1e-6)));
  EXPECT_EQ(row.statistic, "");
  EXPECT_EQ(file.facts.suite, "sort_bench");
  EXPECT_EQ(file.facts.hostname, "node1");
  EXPECT_EQ(file.facts.cpus, 8);
  EXPECT_EQ(file.facts.started_utc, "2026-11-27T02:00:00Z");
  EXPECT_EQ(file.facts.load_1m, 1.5);
}

TEST(GoogleBenchmark, JoinsRowsThatAreNotNeighbours) {
  const auto row = [](const std::string& name, int ns) {
    return R"({"name": ")" + name + R"(", "run_type": "iteration", "real_time": )" + std::to_string(ns) +
           R"(, "cpu_time": 1, "time_unit": "ns"})";
  };
  const auto file = read("google-benchmark", google(row("a", 1) + "," + row("b", 5) + "," + row("a", 2)));
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_THAT(file.rows[0].samples.at("step_time_s"), ElementsAre(DoubleEq(1e-9), DoubleEq(2e-9)));
  EXPECT_EQ(file.rows[1].name, "b");
}

std::string aggregate(const std::string& name, const std::string& value, const std::string& unit = "time") {
  return R"({"name": "BM_Sort/64_)" + name + R"(", "run_name": "BM_Sort/64", "run_type": "aggregate", "iterations": 3,
    "aggregate_name": ")" +
         name + R"(", "aggregate_unit": ")" + unit + R"(", "real_time": )" + value + R"(, "cpu_time": )" + value +
         R"(, "time_unit": "ms"})";
}

TEST(GoogleBenchmark, NeverMixesAggregatesWithSamples) {
  const auto file =
      read("google-benchmark", google(google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "ms")") + "," +
                                      aggregate("mean", "7") + "," + aggregate("cv", "0.5", "percentage")));
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_THAT(file.rows[0].samples.at("step_time_s"), ElementsAre(DoubleEq(4e-3)));
  EXPECT_THAT(file.rows[0].averages, IsEmpty());
}

TEST(GoogleBenchmark, TakesTheMedianOfAFileThatHasOnlyAggregates) {
  const auto file =
      read("google-benchmark", google(aggregate("mean", "7") + "," + aggregate("median", "6") + "," +
                                      aggregate("stddev", "1") + "," + aggregate("cv", "0.1", "percentage")));
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].statistic, "median");
  EXPECT_THAT(file.rows[0].averages,
              UnorderedElementsAre(Pair("step_time_s", DoubleEq(6e-3)), Pair("cpu_time_s", DoubleEq(6e-3))));
  EXPECT_THAT(file.rows[0].samples, IsEmpty());
}

// Rows of the complexity have no time.
TEST(GoogleBenchmark, LeavesOutComplexityRows) {
  const auto file =
      read("google-benchmark", google(google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "ms")") + R"(,
    {"name": "BM_Sort_BigO", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "BigO",
     "cpu_coefficient": 3.1, "real_coefficient": 3.1, "big_o": "NlgN", "time_unit": "ns"},
    {"name": "BM_Sort_RMS", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "RMS", "rms": 0.02})"));
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].name, "BM_Sort/64");
}

TEST(GoogleBenchmark, KeepsCountersAsClaims) {
  const auto file =
      read("google-benchmark", google(google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "ms", "label": "x",
                                "family_index": 3, "items_per_second": 1e6, "bytes_per_second": NaN, "hits": 7)")));
  const auto& samples = file.rows.at(0).samples;
  EXPECT_THAT(samples.at("stated.items_per_s"), ElementsAre(1e6));
  EXPECT_THAT(samples.at("stated.hits"), ElementsAre(7));
  EXPECT_TRUE(std::isnan(samples.at("stated.bytes_per_s").at(0)));
  EXPECT_EQ(samples.size(), 5U);
}

TEST(GoogleBenchmark, MakesStatesOfErrorsAndSkips) {
  const auto file = read("google-benchmark", google(R"(
    {"name": "a", "run_type": "iteration", "error_occurred": true, "error_message": "no GPU", "real_time": 0},
    {"name": "b", "run_type": "iteration", "skipped": true, "skip_message": "too small"},
    {"name": "c", "run_type": "iteration", "real_time": 1, "cpu_time": 1, "time_unit": "s"})"));
  ASSERT_EQ(file.rows.size(), 3U);
  EXPECT_EQ(file.rows[0].state, RowState::failed);
  EXPECT_EQ(file.rows[0].reason, "no GPU");
  EXPECT_EQ(file.rows[1].state, RowState::skipped);
  EXPECT_EQ(file.rows[1].reason, "too small");
  EXPECT_EQ(file.rows[2].state, RowState::ok);
}

TEST(GoogleBenchmark, RefusesWhatMustNotBeBelieved) {
  const auto row = google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "ms")");
  EXPECT_THAT(error_in("google-benchmark", google(row, R"("library_build_type": "debug")")),
              HasSubstr("at /context/library_build_type: the Google Benchmark library is a debug build"));
  EXPECT_THAT(error_in("google-benchmark", google(row, R"("json_schema_version": 2)")), HasSubstr("only version 1"));
  EXPECT_EQ(error_in("google-benchmark", google(row, R"("json_schema_version": 1)")), "no error");
  EXPECT_THAT(error_in("google-benchmark", google(R"({"name": "a", "real_time": 1, "cpu_time": 1, "time_unit": "s"})")),
              HasSubstr("4: at /benchmarks/0/run_type: it is missing"));
  EXPECT_THAT(error_in("google-benchmark", google(row + ",\n" + google_row(R"("real_time": 4, "cpu_time": 4)"))),
              HasSubstr("5: at /benchmarks/1/time_unit: there is no such text"));
  EXPECT_THAT(error_in("google-benchmark", google(google_row(R"("real_time": "4", "cpu_time": 4, "time_unit": "s")"))),
              HasSubstr("at /benchmarks/0/real_time: found \"4\" where a number is needed"));
  EXPECT_THAT(error_in("google-benchmark", google(google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "h")"))),
              HasSubstr("unknown unit of time 'h'"));
  EXPECT_THAT(error_in("google-benchmark", google("")), HasSubstr("it has no benchmark"));
  EXPECT_THAT(error_in("google-benchmark", R"({"benchmarks": []})"), HasSubstr("it has no 'context'"));
  EXPECT_THAT(error_in("google-benchmark", google("7")), HasSubstr("/benchmarks/0"));
  EXPECT_THAT(error_in("google-benchmark", google(row).substr(0, 300)), HasSubstr("not JSON"));
}

std::string nvbench(const std::string& states) {
  return R"({"meta": {"version": {"json": {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}}},
 "devices": [{"id": 0, "name": "NVIDIA H100"}, {"id": 1, "name": "NVIDIA L40S"}],
 "benchmarks": [{"name": "copy", "index": 0, "axes": null, "states": [)" +
         states + "]}]}";
}

std::string summary(const std::string& tag, const std::string& value) {
  return R"({"tag": ")" + tag + R"(", "name": "n", "data": [{"name": "value", "type": "float64", "value": ")" + value +
         R"("}]})";
}

std::string little_endian(std::initializer_list<float> values) {
  std::string out;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte) out += static_cast<char>(bits >> (8 * byte) & 0xFFU);
  }
  return out;
}

constexpr const char* kBin = R"({"tag": "nv/json/bin:nv/cold/sample_times", "data": [
  {"name": "filename", "type": "string", "value": "r.json-bin/0.bin"}, {"name": "size", "type": "int64", "value": "2"}]})";

// Numbers are texts, axes may be null, and the median is better than the mean.
TEST(Nvbench, TakesTheAverageWithoutSamples) {
  const auto file =
      read("nvbench",
           nvbench(R"({"name": "", "device": 1, "axis_values": null, "summaries": [)" +
                   summary("nv/cold/time/gpu/mean", "3e-5") + "," + summary("nv/cold/time/gpu/stdev/relative", "0.02") +
                   "," + summary("nv/cold/time/gpu/median", "2.5e-05") + R"(], "is_skipped": false})"));
  ASSERT_EQ(file.rows.size(), 1U);
  const auto& row = file.rows.front();
  EXPECT_EQ(row.name, "copy");
  EXPECT_EQ(row.statistic, "median");
  EXPECT_EQ(row.averages.at("step_time_s"), 2.5e-5);
  EXPECT_EQ(row.averages.at("stated.deviation_fraction"), 0.02);
  EXPECT_EQ(row.gpu_model, "NVIDIA L40S");
  EXPECT_THAT(row.axes, IsEmpty());
}

TEST(Nvbench, TakesItsBinarySamples) {
  const auto state = R"({"device": 0, "axis_values": [{"name": "T", "type": "string", "value": "I32"},
      {"name": "Elements", "type": "int64", "value": "16"}], "summaries": [)" +
                     summary("nv/cold/time/gpu/mean", "9") + "," + std::string(kBin) + R"(], "is_skipped": false})";
  const auto file = read("nvbench", nvbench(state), {{"r.json-bin/0.bin", little_endian({0.25F, 0.5F})}});
  const auto& row = file.rows.at(0);
  EXPECT_THAT(row.samples.at("step_time_s"), ElementsAre(0.25, 0.5));
  EXPECT_EQ(row.statistic, "");
  EXPECT_THAT(row.axes, UnorderedElementsAre(Pair("T", "I32"), Pair("Elements", "16")));
  EXPECT_THAT(error_in("nvbench", nvbench(state)), HasSubstr("its samples, r.json-bin/0.bin, are missing"));
  EXPECT_THAT(error_in("nvbench", nvbench(state), {{"r.json-bin/0.bin", "12345678901"}}), HasSubstr("is damaged"));
  EXPECT_THAT(error_in("nvbench", nvbench(state), {{"r.json-bin/0.bin", "1234"}}), HasSubstr("is damaged"));
}

TEST(Nvbench, MakesStatesOfSkipsAndOfTimesThatAreNotThere) {
  const auto file = read("nvbench", nvbench(R"(
    {"device": 0, "axis_values": null, "summaries": null, "is_skipped": true, "skip_reason": "too much memory"},
    {"device": 0, "axis_values": null, "summaries": [{"tag": "nv/json/bin:nv/cold/sample_times", "hide": "x"}],
     "is_skipped": false},
    {"device": 0, "axis_values": null, "is_skipped": false, "summaries": [)" +
                                            summary("nv/cpu_only/time/cpu/mean", "0.5") + "]}"));
  ASSERT_EQ(file.rows.size(), 3U);
  EXPECT_EQ(file.rows[0].state, RowState::skipped);
  EXPECT_EQ(file.rows[0].reason, "too much memory");
  EXPECT_EQ(file.rows[1].state, RowState::failed);
  EXPECT_EQ(file.rows[2].statistic, "cpu_mean");
}

TEST(Nvbench, RefusesAnotherVersion) {
  EXPECT_THAT(error_in("nvbench", R"({"meta": {"version": {"json": {"major": 2}}}})"),
              HasSubstr("at /meta/version/json/major: only version 1"));
}

TEST(Hyperfine, HasSecondsOfEveryRun) {
  const auto file = read("hyperfine", R"({"results": [{"command": "sort -n x", "mean": 9, "stddev": null, "median": 9,
    "user": 0.5, "system": 0.25, "min": 0.1, "max": 0.3, "times": [0.1, 0.3], "memory_usage_byte": [4096, 8192],
    "exit_codes": [0, 0], "parameters": {"threads": "4"}}]})");
  ASSERT_EQ(file.rows.size(), 1U);
  const auto& row = file.rows.front();
  EXPECT_EQ(row.name, "sort -n x");
  EXPECT_THAT(row.samples.at("step_time_s"), ElementsAre(0.1, 0.3));
  EXPECT_THAT(row.samples.at("resident_bytes"), ElementsAre(4096, 8192));
  EXPECT_EQ(row.averages.at("cpu_time_s"), 0.75);
  EXPECT_THAT(row.axes, ElementsAre(Pair("threads", "4")));
  EXPECT_EQ(row.state, RowState::ok);
  EXPECT_EQ(file.facts.started_utc, "");
}

TEST(Hyperfine, DoubtsRunsThatFailed) {
  const auto file = read("hyperfine", R"({"results": [
    {"command": "a", "times": [1, 2, 3], "exit_codes": [0, 1, 0]},
    {"command": "b", "times": [1, 2], "exit_codes": [null, 1]},
    {"command": "c", "mean": 2, "median": 1.5},
    {"command": "d", "times": [0, 0.001], "exit_codes": [0, 0]}]})");
  ASSERT_EQ(file.rows.size(), 4U);
  EXPECT_EQ(file.rows[3].state, RowState::doubtful);
  EXPECT_THAT(file.rows[3].reason, HasSubstr("1 of 2 times are 0"));
  EXPECT_EQ(file.rows[0].state, RowState::doubtful);
  EXPECT_EQ(file.rows[0].reason, "1 of 3 runs ended with another exit code than 0");
  EXPECT_EQ(file.rows[1].state, RowState::failed);
  EXPECT_EQ(file.rows[1].reason, "1 of 2 runs ended by a signal");
  EXPECT_EQ(file.rows[2].statistic, "median");
  EXPECT_EQ(file.rows[2].averages.at("step_time_s"), 1.5);
  EXPECT_THAT(error_in("hyperfine", R"({"results": [{"command": "a", "times": [1, "x"]}]})"),
              HasSubstr("at /results/0/times: found \"x\" where a number is needed"));
}

TEST(PytestBenchmark, HasSamplesOnlyWhereDataWasSaved) {
  const auto file = read("pytest-benchmark", R"({"machine_info": {"node": "ci", "system": "Linux", "release": "6.1",
      "python_version": "3.11.2", "cpu": {"brand_raw": "AMD EPYC", "count": 16}},
    "commit_info": {"id": "0123456789abcdef0123456789abcdef01234567", "dirty": true},
    "benchmarks": [
      {"fullname": "test_a.py::test_x[1]", "params": {"n": 1}, "stats": {"median": 9, "data": [0.5, 0.25]}},
      {"fullname": "test_a.py::test_y", "params": null, "stats": {"mean": 3, "median": 2}}],
    "datetime": "2026-11-27T12:00:00.123456+00:00", "version": "5.2.3"})");
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_THAT(file.rows[0].samples.at("step_time_s"), ElementsAre(0.5, 0.25));
  EXPECT_EQ(file.rows[0].name, "test_a.py::test_x[1]");
  EXPECT_EQ(file.rows[1].statistic, "median");
  EXPECT_EQ(file.rows[1].averages.at("step_time_s"), 2);
  EXPECT_EQ(file.facts.git_commit, "0123456789abcdef0123456789abcdef01234567");
  EXPECT_TRUE(file.facts.git_dirty);
  EXPECT_EQ(file.facts.cpu_model, "AMD EPYC");
  EXPECT_EQ(file.facts.cpus, 16);
  EXPECT_EQ(file.facts.started_utc, "2026-11-27T12:00:00Z");
  EXPECT_EQ(file.facts.libraries.at("python"), "3.11.2");
}

std::string asv(const std::string& results, const std::string& version = "2") {
  return R"({"commit_hash": "0123456789abcdef0123456789abcdef01234567", "env_name": "virtualenv-py3.11",
    "date": 1764201600000, "params": {"machine": "box", "os": "Linux", "cpu": "Xeon", "num_cpu": "4", "ram": "1024",
    "python": "3.11"},
    "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b",
      "stats_q_25", "stats_q_75", "number", "repeat", "samples", "profile"],
    "results": {)" +
         results + R"(}, "durations": {}, "version": )" + version + "}";
}

// Parameters are the product of the lists, of which the last one changes fastest. null failed, NaN was skipped.
TEST(Asv, ReadsTheProductOfParametersAndItsStates) {
  const auto file = read("asv", asv(R"("b.time_x": [[1.5, null, NaN, 4.5], [["1", "2"], ["'a'", "'b'"]], "v1"])"),
                         {{"../benchmarks.json", R"({"version": 2, "b.time_x": {"unit": "seconds", "type": "time",
                            "param_names": ["n", "kind"]}})"}});
  ASSERT_EQ(file.rows.size(), 4U);
  EXPECT_THAT(file.rows[1].axes,
              UnorderedElementsAre(Pair("n", "1"), Pair("kind", "'b'"), Pair("env", "virtualenv-py3.11")));
  EXPECT_THAT(file.rows[2].axes, Contains(Pair("n", "2")));
  EXPECT_EQ(file.rows[0].state, RowState::ok);
  EXPECT_EQ(file.rows[1].state, RowState::failed);
  EXPECT_EQ(file.rows[2].state, RowState::skipped);
  EXPECT_EQ(file.rows[3].averages.at("step_time_s"), 4.5);
  EXPECT_EQ(file.rows[3].statistic, "median");
  EXPECT_THAT(file.rows[3].identity, ElementsAre("version v1"));
  EXPECT_EQ(file.facts.started_utc, "2025-11-27T00:00:00Z");  // of milliseconds
  EXPECT_EQ(file.facts.cpus, 4);
  EXPECT_EQ(file.facts.memory_bytes, 1024 * 1024);
}

TEST(Asv, TakesSamplesThatWereRecorded) {
  const auto file =
      read("asv", asv(R"("b.time_x": [[2.0], [], "v", 1, 2, [1], [1], [1], [1], [10], [2], [[1.0, 3.0]]])"));
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_THAT(file.rows[0].samples.at("step_time_s"), ElementsAre(1, 3));
  EXPECT_EQ(file.rows[0].statistic, "");
}

// The catalog has the units; without it the names tell.
TEST(Asv, KnowsUnits) {
  const auto results = R"("b.peakmem_x": [[4096.0]], "b.track_x": [[7.0]])";
  const auto file = read("asv", asv(results), {{"../benchmarks.json", R"({"b.track_x": {"unit": "percent"}})"}});
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_EQ(file.rows[0].averages.at("resident_bytes"), 4096);
  EXPECT_EQ(file.rows[1].averages.at("tracked"), 7);
  EXPECT_EQ(file.rows[1].declared.at("tracked").unit, "percent");
  EXPECT_EQ(file.rows[1].declared.at("tracked").better, spec::Better::lower);
}

// A benchmark that failed as a whole has null in the place of its results.
TEST(Asv, CountsABenchmarkWithoutResultsAsFailed) {
  const auto file = read("asv", asv(R"("b.time_x": [null, [["1", "2"]]], "b.time_y": [])"));
  ASSERT_EQ(file.rows.size(), 3U);
  for (const auto& row : file.rows) EXPECT_EQ(row.state, RowState::failed);
}

TEST(Asv, RefusesOtherVersionsAndFiles) {
  EXPECT_THAT(error_in("asv", asv(R"("b.time_x": [[1.0]])", "1")), HasSubstr("at /version: only version 2"));
  EXPECT_THAT(error_in("asv", R"({"machine": "x"})"), HasSubstr("it has no 'version'"));
  EXPECT_THAT(error_in("asv", asv(R"("b.time_x": [[1.0], "x"])")), HasSubstr("at /results/b.time_x"));
  EXPECT_THAT(error_in("asv", asv(R"("b.time_x": [[1.0]])"), {{"../benchmarks.json", "{"}}),
              HasSubstr("in ../benchmarks.json: not JSON"));
}

constexpr const char* kNcclHeader = R"(# nccl-tests version 2.17 nccl-headers=22803 nccl-library=22803
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid     71 on       host device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid     72 on       host device  1 [0000:08:00] NVIDIA H100 80GB HBM3
#                                                              out-of-place                       in-place
)";
constexpr const char* kNcclColumns =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw "
    " #wrong\n";

TEST(NcclTests, ReadsBothSidesOfALine) {
  const auto file = read("nccl-tests", std::string(kNcclHeader) + kNcclColumns + R"(
host:71:80 [0] NCCL INFO 12 coll channels
   536870912     134217728     float     sum      -1   1806.7  297.16  586.06      0   1835.9  292.43  576.74    N/A
        1024           256     float     sum      -1     5.00    0.20    0.40      3     6.00    0.20    0.40      0
# Avg bus bandwidth    : 123.4
)");
  ASSERT_EQ(file.rows.size(), 4U);
  const auto& first = file.rows.front();
  EXPECT_EQ(first.name, "all_reduce_perf");
  EXPECT_EQ(file.facts.suite, "all_reduce_perf");
  EXPECT_EQ(file.facts.gpu_model, "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(first.axes, UnorderedElementsAre(Pair("size", "536870912"), Pair("type", "float"), Pair("redop", "sum"),
                                               Pair("root", "-1"), Pair("place", "out_of_place"), Pair("ranks", "2")));
  EXPECT_DOUBLE_EQ(first.averages.at("step_time_s"), 1806.7e-6);
  EXPECT_DOUBLE_EQ(first.averages.at("stated.bus_bytes_per_s"), 586.06e9);
  EXPECT_EQ(first.statistic, "mean");
  EXPECT_EQ(file.rows[1].state, RowState::ok);  // N/A: not checked
  EXPECT_EQ(file.rows[2].state, RowState::doubtful);
  EXPECT_THAT(file.rows[2].reason, HasSubstr("3.0 values of its result are wrong"));
  EXPECT_EQ(file.rows[3].state, RowState::ok);
}

// -S adds a time, -I four columns a side, `srun -l` a rank before each line; a replayed trace has one side.
TEST(NcclTests, KnowsTheOtherFormsOfItsLines) {
  const auto stamped = read("nccl-tests", std::string(kNcclColumns) +
                                              "0: 8 2 float sum -1 5.0 0.1 0.2 0 6.0 0.1 0.2 0 2026-11-27 12:00:00\n");
  ASSERT_EQ(stamped.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(stamped.rows[1].averages.at("step_time_s"), 6e-6);
  const auto each =
      read("nccl-tests",
           "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw "
           "#wrong i_min i_max i_p99 i_cv%\n"
           "8 2 float sum -1 5.0 0.1 0.2 0 1 2 3 4 6.0 0.1 0.2 0 1 2 3 4\n");
  EXPECT_DOUBLE_EQ(each.rows.at(1).averages.at("step_time_s"), 6e-6);
  const auto replayed = read("nccl-tests", std::string(kNcclColumns) + "8 2 float sum -1 7.0 0.1 0.2 0\n");
  ASSERT_EQ(replayed.rows.size(), 1U);
  EXPECT_THAT(replayed.rows[0].axes, Contains(Pair("place", "in_place")));
}

TEST(NcclTests, RefusesALineIntoWhichAnotherWasWritten) {
  EXPECT_THAT(error_in("nccl-tests", std::string(kNcclColumns) + "\n8 2 float sum -1 5.0 host NCCL INFO x\n"),
              HasSubstr("3: a row of 10 columns"));
  EXPECT_THAT(error_in("nccl-tests", std::string(kNcclColumns) + "8 2 float sum -1 5.0 NCCL INFO x\n"),
              HasSubstr("2: found 'NCCL' where a number is needed"));
  EXPECT_THAT(error_in("nccl-tests", std::string(kNcclColumns) + "8 2 float sum -1 x 0.1 0.2 0 6.0 0.1 0.2 0\n"),
              HasSubstr("2: found 'x' where a number is needed"));
  EXPECT_THAT(error_in("nccl-tests", "hello\n"), HasSubstr("it has no header of nccl-tests"));
}

// Roots are padded texts, numbers that are not finite are texts, and replayed traces have null.
TEST(NcclTests, ReadsItsJson) {
  const auto file = read("nccl-tests", R"({"version": 3, "start_time": "2026-11-27 12:00:00",
    "args": ["/opt/all_gather_perf", "-J", "f.json"],
    "devices": [{"rank": 0, "hostname": "node1", "device_info": "NVIDIA H200"}],
    "results": [
      {"size": 1024, "count": 256, "type": "float", "redop": "none", "root": "    -1",
       "out_of_place": {"time": 5.0, "alg_bw": "nan", "bus_bw": 0.5, "nwrong": null},
       "out_of_place_per_iter": {"skipped_iterations": 1, "times_us": [9.0, 4.0, 6.0]},
       "in_place": {"time": "nan", "alg_bw": 0.1, "bus_bw": 0.2, "nwrong": 0.0},
       "actual_iterations": 20, "experiment_name": ""},
      {"size": 8, "count": 2, "type": "float", "redop": "none", "root": "     0", "out_of_place": null,
       "in_place": {"cpu_time": 7.0, "alg_bw": 0.1, "bus_bw": 0.2, "nwrong": 2.0}, "experiment_name": "x"}]})");
  ASSERT_EQ(file.rows.size(), 3U);
  EXPECT_EQ(file.rows[0].name, "all_gather_perf");
  EXPECT_EQ(file.facts.started_utc, "2026-11-27T12:00:00Z");
  EXPECT_EQ(file.facts.gpu_model, "NVIDIA H200");
  EXPECT_THAT(file.rows[0].samples.at("step_time_s"), ElementsAre(DoubleEq(4e-6), DoubleEq(6e-6)));
  EXPECT_THAT(file.rows[0].axes, Contains(Pair("root", "-1")));
  EXPECT_EQ(file.rows[1].state, RowState::failed);
  EXPECT_EQ(file.rows[2].state, RowState::doubtful);
  EXPECT_EQ(file.rows[2].name, "x");
  EXPECT_THAT(file.rows[2].axes, Contains(Pair("time", "cpu")));
  EXPECT_THAT(error_in("nccl-tests", R"({"version": 2})"), HasSubstr("at /version: only version 3"));
}

TEST(BenchmarkSamples, AreStepsOfTheirOwn) {
  BenchmarkRow row;
  row.samples["step_time_s"] = {0.5, 0.25};
  row.averages["cpu_time_s"] = 2;
  const auto samples = samples_of(row);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[1].step, 2);
  EXPECT_EQ(samples[1].value, 0.25);
  EXPECT_EQ(samples[2].kind, spec::SampleKind::since_start_mean);
}

TEST(BenchmarkReader, ReadsTheFileOfOneBenchmark) {
  const auto one = google_row(R"("real_time": 4, "cpu_time": 4, "time_unit": "ms")");
  EXPECT_THAT(read_text("google-benchmark", google(one), {}, 7).values("step_time_s"), ElementsAre(DoubleEq(4e-3)));
  const auto error = [](const std::string& text) -> std::string {
    try {
      read_text("google-benchmark", text);
    } catch (const ReaderError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(google(one + R"(,{"name": "b", "run_type": "iteration", "real_time": 1, "cpu_time": 1,
                                      "time_unit": "s"})")),
              HasSubstr("its file has 2 benchmarks, such as BM_Sort/64 and b"));
  EXPECT_THAT(error(google(R"({"name": "a", "run_type": "iteration", "error_occurred": true})")),
              HasSubstr("a did not end well: the file gives no reason"));
  EXPECT_THAT(error("{"), HasSubstr("its google-benchmark file, line 1: not JSON"));
}

TEST(UtcText, KnowsZones) {
  EXPECT_EQ(utc_of("2026-11-27T12:00:00.25-05:30"), "2026-11-27T17:30:00Z");
  EXPECT_EQ(utc_of("2026-01-01 00:30:00+0100"), "2025-12-31T23:30:00Z");
  EXPECT_EQ(utc_of("2026-11-27T12:00:00"), "2026-11-27T12:00:00Z");
  for (const auto* wrong :
       {"", "2026-11-27", "2026-02-30T12:00:00Z", "2026-11-27T25:00:00Z", "Thu Nov 27", "2026-11-27T12:00:00 PST"}) {
    EXPECT_EQ(utc_of(wrong), "") << wrong;
  }
  EXPECT_EQ(utc_of_seconds(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace perfbench::readers
