// perfbench trace as a user runs it: the built executable, its output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"
#include "tests/harness/trace/trace_event_format.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class TraceCommand : public testing::Test {
 protected:
  TraceCommand() {
    ExampleRun example{.attempt = example_attempt("c", 1)};
    example.run.mesh.ici.fsdp = 2;
    example.run.trace_steps = 2;
    write_run_directory(scratch_ / "runs/0123456789abcdef/001", example);
    write_traces(scratch_ / "runs/0123456789abcdef/001", example_traces());
  }

  ProcessEnd trace(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "trace"});
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  }

  ScratchFolder scratch_;
};

TEST_F(TraceCommand, PrintsARowPerRankAndStepOfTheNewestAttempt) {
  const auto table = trace({"runs/0123456789abcdef"});
  EXPECT_EQ(table.exit_code, 0) << table.error_output;
  EXPECT_THAT(table.output, HasSubstr("Exposed comm"));
  EXPECT_THAT(table.output, HasSubstr("20.0 %"));
  const auto json = nlohmann::json::parse(trace({"runs/0123456789abcdef/001", "--format", "json"}).output);
  ASSERT_EQ(json["steps"].size(), 4U);
  EXPECT_EQ(json["steps"][3]["rank"], 1);
  EXPECT_EQ(json["steps"][3]["gemm_ns"], 200);
  std::int64_t path_ns = 0;  // run.json names the mesh of both ranks
  for (const auto& share : json["critical_path"]) path_ns += share["ns"].get<std::int64_t>();
  EXPECT_EQ(path_ns, 1000);
  EXPECT_THAT(trace({"runs/0123456789abcdef", "--format", "csv"}).output, HasSubstr("rank,step,wall_ns"));
}

TEST_F(TraceCommand, ShowsTheCausesOfADifferenceOfTwoRuns) {
  auto slower = example_traces();
  for (auto& rank : slower) {
    for (auto& event : rank.events) {
      // The last step ends 100 ns later, and so does what ran until its end: the engine itself.
      if (event.kind == spec::TraceKind::step && event.step == rank.events.back().step) event.end_ns += 100;
    }
  }
  write_traces(scratch_ / "slower", slower);
  const auto table = trace({"slower", "--against", "runs/0123456789abcdef"});
  EXPECT_EQ(table.exit_code, 0) << table.error_output;
  EXPECT_THAT(table.output, HasSubstr("idle: host"));
  const auto json =
      nlohmann::json::parse(trace({"slower", "--against", "runs/0123456789abcdef", "--format", "json"}).output);
  EXPECT_GT(json["b_s"], json["a_s"]);
  EXPECT_EQ(json["shares"][0]["name"], "idle: host");
  double sum = 0;
  for (const auto& share : json["shares"]) sum += share["b_s"].get<double>() - share["a_s"].get<double>();
  EXPECT_NEAR(sum, json["b_s"].get<double>() - json["a_s"].get<double>(), 1e-15);
  const auto csv = trace({"slower", "--against", "runs/0123456789abcdef", "--format", "csv"});
  EXPECT_THAT(csv.output, HasSubstr("name,a_s,b_s,difference_s,of_difference_fraction\r\nidle: host,"));
  EXPECT_EQ(trace({"slower", "--against", "slower", "--format", "chrome"}).exit_code, 3);
  EXPECT_EQ(trace({"slower", "--against", "nowhere"}).exit_code, 3);
}

TEST_F(TraceCommand, WritesTheTraceForOtherPrograms) {
  const auto chrome = trace({"runs/0123456789abcdef", "--format", "chrome", "--output", "t.json"});
  EXPECT_EQ(chrome.exit_code, 0) << chrome.error_output;
  EXPECT_EQ(chrome.output, "t.json\n");
  EXPECT_THAT(trace_event_faults(read_text(scratch_ / "t.json")), IsEmpty());
  EXPECT_EQ(trace({"runs/0123456789abcdef", "--format", "sqlite"}).exit_code, 0);
  const Connection db(scratch_ / "runs/0123456789abcdef/001/trace.sqlite", OpenMode::read_only, 0);
  Statement spans(db, "SELECT count(*) FROM NVTX_EVENTS WHERE text = 'matmul'");
  ASSERT_TRUE(spans.step());
  EXPECT_EQ(spans.integer(0), 4);
  EXPECT_EQ(trace({"runs/0123456789abcdef", "--format", "csv", "--output", "no/such/folder.csv"}).exit_code, 4);
}

// The output of the real engine, with collectives that run beside the schedule, and with its steps side by side.
TEST_F(TraceCommand, ATraceOfARealRunIsValidForPerfettoAndEqualsItself) {
  if (!std::filesystem::exists(PERFBENCH_BINARY_DIR "/bin/perfbench-engine")) {
    GTEST_SKIP() << "skipped: built without an engine";
  }
  const auto matrix = std::string(PERFBENCH_SOURCE_DIR) + "/matrices/quickstart.yaml";
  const auto sweep = run_process(
      {.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "sweep", matrix, "--db", "real.db", "--only",
                   "model=gpt-mini", "--only", "attention=flash", "--only", "remat=full", "--set", "trace_steps=2"},
       .working_dir = scratch_.path(),
       .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.error_output;
  ASSERT_EQ(trace({"latest", "--db", "real.db", "--format", "chrome", "--output", "t.json"}).exit_code, 0);
  EXPECT_THAT(trace_event_faults(read_text(scratch_ / "t.json")), IsEmpty());
  const auto same = trace({"latest", "--db", "real.db", "--against", "latest", "--format", "json"});
  const auto json = nlohmann::json::parse(same.output);
  ASSERT_GT(json["operations"].size(), 100U);
  for (const auto& operation : json["operations"]) EXPECT_EQ(operation["a"], operation["b"]);
  EXPECT_NE(same.output.find("layers.1 recompute"), std::string::npos) << "parts of the model";
  // Each counted call has its span in each of the two steps.
  const auto spans = nlohmann::json::parse(read_text(scratch_ / "t.json"))["traceEvents"];
  const auto products =
      std::count_if(spans.begin(), spans.end(), [](const auto& span) { return span.value("name", "") == "matmul"; });
  const auto rates = nlohmann::json::parse(trace({"latest", "--db", "real.db", "--format", "json"}).output)["roofline"];
  ASSERT_FALSE(rates.empty());
  EXPECT_EQ(rates[0]["operation"], "matmul");
  EXPECT_EQ(2 * rates[0]["calls"].get<std::int64_t>(), products);
  EXPECT_GT(rates[0]["flops_per_s"], 0);
  EXPECT_GT(rates[0]["roof_fraction"], 0);
  const auto page = trace({"latest", "--db", "real.db", "--format", "svg"});
  EXPECT_THAT(page.output, HasSubstr("Parts of a traced step"));
}

TEST_F(TraceCommand, SaysWhatIsWrongWithATraceAndHowToGetOne) {
  const auto folder = scratch_ / "runs/0123456789abcdef/001";
  const auto expect_error = [&](const std::string& named, const char* part) {
    const auto end = trace({named});
    EXPECT_EQ(end.exit_code, 3) << end.output;
    EXPECT_THAT(end.error_output, HasSubstr(part));
  };
  expect_error("nowhere", "[trace] nowhere: it contains no attempt.json");
  const auto run = read_text(folder / kRunFile);
  write_text(folder / kRunFile, "{}");
  expect_error(folder, "run.json");
  write_text(folder / kRunFile, run);
  write_text(folder / trace_file(1), "{\n");
  expect_error(folder, "trace.rank1.jsonl:1 ");
  std::filesystem::remove(folder / trace_file(1));
  expect_error(folder, "not trace.rank1.jsonl");
  std::filesystem::remove(folder / trace_file(0));
  expect_error(folder, "--set trace_steps=2");
}

}  // namespace
}  // namespace perfbench::harness
