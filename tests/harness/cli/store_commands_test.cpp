// ingest, report, compare and baseline as a user runs them: the built executable, its output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/store/archive/archive.h"
#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"
#include "tests/harness/unpacked_archive.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StoreCommands : public testing::Test {
 protected:
  ScratchFolder scratch_;

  ProcessEnd run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}, {"USER", "ada"}}});
  }

  // The runs of one sweep, whose step times differ by a tenth of a percent.
  void write_sweep(const std::string& id, double step_s, int runs, const std::string& year = "2026",
                   const std::string& cell = "c", const std::string& matrix = "example") {
    for (int i = 1; i <= runs; ++i) {
      ExampleRun example{.attempt = example_attempt(cell, i)};
      example.attempt.sweep_id = id;
      example.attempt.matrix = matrix;
      example.attempt.started_utc = year + "-0" + id.substr(1, 1) + "-01T00:00:0" + std::to_string(i) + "Z";
      example.step_s.assign(6, step_s * (1 + 0.001 * i));
      write_run_directory(scratch_ / "runs" / id / std::to_string(i), example);
    }
  }

  // Six sweeps in the previous year, of five runs each, alternately 0.2 % above and below 0.5 s. With them the database
  // knows how far sessions differ.
  void write_quiet_year() {
    for (int i = 1; i <= 6; ++i) {
      write_sweep("q" + std::to_string(i), i % 2 == 0 ? 0.501 : 0.499, 5, "2025");
    }
  }

  void ingest() {
    const auto end = run({"ingest", "runs", "--db", "q.db"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
  }
};

TEST_F(StoreCommands, ReportShowsTheBestRowsAndTheNamedColumns) {
  for (const auto* cell : {"slow", "quick"}) {
    ExampleRun example{.attempt = example_attempt(cell, 1)};
    example.run.seq_len = cell == std::string("slow") ? 64 : 16;
    write_run_directory(scratch_ / "runs" / cell, example);
  }
  ingest();
  const std::vector<std::string> report{"report",   "--db", "q.db",      "--sweep",  "all",
                                        "--format", "csv",  "--columns", "cell,runs"};
  const auto more = [&](const std::vector<std::string>& options) {
    auto words = report;
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  EXPECT_EQ(more({"--sort", "cell"}).output, "cell,runs\r\nquick,1\r\nslow,1\r\n");
  EXPECT_THAT(more({"--best", "1"}).error_output, HasSubstr("--sort"));
  EXPECT_THAT(more({"--style", "pax"}).error_output, HasSubstr("--columns"));
  const auto unknown = more({"--sort", "celll"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output,
              HasSubstr("[report] --sort 'celll': the report has no such column (did you mean 'cell'?)"));
}

TEST_F(StoreCommands, ReportHasTheCostOfTokensAndTheHeatMapThatIsAskedFor) {
  int number = 0;
  for (const auto* cell : {"a=1 b=x", "a=2 b=x", "a=1 b=y", "a=2 b=y"}) {
    ExampleRun example{.attempt = example_attempt(cell, 1)};
    example.run.seed = ++number;
    write_run_directory(scratch_ / "runs" / std::to_string(number), example);
  }
  ingest();
  const auto report = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"report", "--db", "q.db", "--sweep", "all"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  EXPECT_THAT(report({}).output, Not(HasSubstr("Cost")));
  EXPECT_THAT(report({"--price", "3.6"}).output, HasSubstr("Cost/1M tokens"));
  EXPECT_THAT(report({"--price", "3.6", "--columns", "cell"}).output, HasSubstr("Cost"));
  EXPECT_EQ(report({"--price", "0"}).exit_code, 3);
  EXPECT_EQ(report({"--price", "3.6", "--style", "pax"}).exit_code, 3) << "the columns of Pax have no cost";
  EXPECT_THAT(report({"--format", "svg"}).output, HasSubstr("by a and b"));
  EXPECT_THAT(report({"--format", "svg", "--heat-map", "b,a"}).output, HasSubstr("by b and a"));
  const auto unknown = report({"--heat-map", "a,c"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output, HasSubstr("its axes are: a, b"));
}

TEST_F(StoreCommands, HelpNeedsNoDataFolder) {
  const std::string perfbench = std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench";
  const auto without_data = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), perfbench);
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", (scratch_ / "nowhere").string()}}});
  };
  const auto help = without_data({"--help"});
  EXPECT_EQ(help.exit_code, 0) << help.error_output;
  EXPECT_THAT(help.output, HasSubstr("sweep"));
  for (const auto* command : {"sweep", "plan", "report", "compare", "baseline", "reproduce", "ingest", "export",
                              "import", "doctor", "data", "alerts"}) {
    const auto end = without_data({command, "--help"});
    EXPECT_EQ(end.exit_code, 0) << command << ": " << end.error_output;
  }
  const auto plan = without_data({"plan", "m.yaml"});
  EXPECT_EQ(plan.exit_code, 3);
  EXPECT_THAT(plan.error_output, HasSubstr("PERFBENCH_DATA_DIR is '" + (scratch_ / "nowhere").string() + "'"));
}

// Runs on this machine do not need the data files.
TEST_F(StoreCommands, ReportOfThisMachinesRunsNeedsNoDataFolder) {
  write_sweep("s1", 0.5, 1);
  ingest();
  const auto end =
      run_process({.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "report", "--db", "q.db"},
                   .working_dir = scratch_.path(),
                   .environment = {{"PERFBENCH_DATA_DIR", "/nowhere"}}});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
}

TEST_F(StoreCommands, ExportThenImportTakesRunsToAnotherDatabase) {
  write_sweep("s1", 0.5, 2);
  write_sweep("s2", 0.5, 1);
  ingest();
  const auto exported = run({"export", "--db", "q.db", "--select", "latest", "night.perfbench"});
  EXPECT_THAT(exported.output, HasSubstr("night.perfbench: 1 attempts (6 step rows), ")) << exported.error_output;
  EXPECT_EQ(run({"export", "--db", "q.db", "all.perfbench"}).exit_code, 0);
  const auto first = run({"import", "--db", "w.db", "night.perfbench"});
  EXPECT_THAT(first.output, HasSubstr("1 attempts added (6 step rows), 0 already there")) << first.error_output;
  write_text(scratch_ / "torn.perfbench", read_text(scratch_ / "night.perfbench").substr(0, 500));
  const auto second = run({"import", "--db", "w.db", "torn.perfbench", "all.perfbench"});
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_THAT(second.error_output, HasSubstr("torn.perfbench does not end with its checksum"));
  EXPECT_THAT(second.output, HasSubstr("all.perfbench: 2 attempts added (12 step rows), 1 already there"));
}

TEST_F(StoreCommands, IngestThenReportPrintsTheTable) {
  write_sweep("s1", 0.5, 1);
  const auto ingested = run({"ingest", "runs", "--db", "q.db"});
  EXPECT_THAT(ingested.output, HasSubstr("1 attempts added (6 step rows), 0 already there"));
  const auto report = run({"report", "--db", "q.db", "--format", "markdown"});
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.output, HasSubstr("| Step Time ("));
  EXPECT_THAT(report.output, HasSubstr("0.5005"));
  const auto seqax = run({"report", "--db", "q.db", "--style", "seqax", "--format", "csv", "--definition", "palm"});
  EXPECT_THAT(seqax.output, HasSubstr("model_size,mfu_percent"));
}

TEST_F(StoreCommands, IngestNamesABrokenFileAndExitsWithThree) {
  write_sweep("s1", 0.5, 2);
  write_text(scratch_ / "runs/s1/1/env.json", "{");
  const auto end = run({"ingest", "runs", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("runs/s1/1: stored as crashed: "));
  EXPECT_THAT(end.error_output, HasSubstr("env.json was cut off or damaged: "));
  EXPECT_THAT(end.output, HasSubstr("2 attempts added"));
  EXPECT_THAT(run({"report", "--db", "q.db"}).output, HasSubstr("0.501"));
}

// For example, a disk fills up while an engine writes: one cell loses a file, and nothing else is lost.
TEST_F(StoreCommands, ASweepPrintsItsTableWhateverAnEngineLeft) {
  write_text(
      scratch_ / "m.yaml",
      "name: m\ndefaults: {model: gpt-mini, seq_len: 16, global_batch: 1, steps: 3}\naxes: {seed: [100, 101]}\n");
  write_text(scratch_ / "engine.sh",
             "#!/bin/sh\n" PERFBENCH_FAKE_ENGINE
             " \"$@\"\ncode=$?\n[ \"$1\" = run ] || exit $code\ncd \"$3\" || exit 9\n"
             "grep -q '\"seed\":100' run.json || exit 0\n: > env.json; rm result.json; mkfifo result.json\n");
  std::filesystem::permissions(scratch_ / "engine.sh", std::filesystem::perms::all);
  const auto end = run_process({.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "sweep", "m.yaml"},
                                .working_dir = scratch_.path(),
                                .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                                                {"PERFBENCH_ENGINE", (scratch_ / "engine.sh").string()}}});
  EXPECT_EQ(end.exit_code, 4) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("| Step Time ("));
  EXPECT_THAT(end.output, HasSubstr("1 ok, 1 crashed")) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("env.json is empty"));
}

// As far as the database knows, it may have been another machine on that day.
TEST_F(StoreCommands, ComparingTwoSessionsWithoutKnownOnesExitsWithTwoAndNamesTheCommandThatDecides) {
  write_sweep("s1", 0.5, 5, "2026", "a=1");
  write_sweep("s2", 0.6, 5, "2026", "a=1");
  ingest();
  const auto found = run({"compare", "--db", "q.db", "--baseline", "s1"});
  EXPECT_EQ(found.exit_code, 2) << found.error_output;
  EXPECT_THAT(found.output, AllOf(HasSubstr("INCONCLUSIVE"), HasSubstr("sessions_unknown: "), HasSubstr("+20.0 %")));
  EXPECT_THAT(found.output,
              HasSubstr("perfbench compare --ab 0123456789ab 0123456789ab matrices/example.yaml --only a=1"));
  const auto json = nlohmann::json::parse(
      run({"compare", "--db", "q.db", "--baseline", "s1", "--format", "json"}).output)["cells"][0];
  EXPECT_EQ(json["reason"], "sessions_unknown");
  EXPECT_EQ(json["sessions"], 0);
  EXPECT_TRUE(json["session_deviation_fraction"].is_null());
  EXPECT_TRUE(json["p"].is_null());
  const auto report = run({"report", "--db", "q.db", "--baseline", "s1"});
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.output, AllOf(HasSubstr("| +20.0 % INCONCLUSIVE"), HasSubstr("compare --ab 0123456789ab")));
  EXPECT_EQ(run({"compare", "--db", "q.db", "--baseline", "s1", "--metric", "peak_memory_bytes"}).exit_code, 0)
      << "of memory no session has another";
}

// At 0.2 % from night to night, 20 % are a regression; at 2 % from night to night, 3 % are not.
TEST_F(StoreCommands, CompareJudgesADifferenceByTheSpreadBetweenSessions) {
  write_quiet_year();
  for (int i = 1; i <= 6; ++i) {
    ExampleRun busy{.attempt = example_attempt("busy", i)};
    busy.run.seq_len = 64;
    busy.attempt.sweep_id = "b" + std::to_string(i);
    busy.attempt.started_utc = "2025-0" + std::to_string(i) + "-02T00:00:00Z";
    for (int k = 1; k <= 5; ++k) {
      busy.attempt.attempt = k;
      busy.step_s.assign(6, (i % 2 == 0 ? 0.51 : 0.49) * (1 + 0.001 * k));
      write_run_directory(scratch_ / "runs" / busy.attempt.sweep_id / std::to_string(k), busy);
    }
  }
  for (const auto& [id, step_s] : {std::pair{"s1", 0.5}, {"s2", 0.515}}) {
    write_sweep(id, step_s, 5);
    for (int k = 1; k <= 5; ++k) {
      ExampleRun busy{.attempt = example_attempt("busy", k)};
      busy.run.seq_len = 64;
      busy.attempt.sweep_id = id;
      busy.attempt.started_utc = std::string("2026-0") + id[1] + "-01T00:00:09Z";
      busy.step_s.assign(6, step_s * (1 + 0.001 * k));
      write_run_directory(scratch_ / "runs" / id / ("busy" + std::to_string(k)), busy);
    }
  }
  ingest();
  const auto end = run({"compare", "--db", "q.db", "--baseline", "s1", "--format", "json"});
  EXPECT_EQ(end.exit_code, 1);
  const auto cells = nlohmann::json::parse(end.output)["cells"];
  ASSERT_EQ(cells.size(), 2U);
  for (const auto& cell : cells) {
    EXPECT_EQ(cell["sessions"], 6);
    EXPECT_NEAR(cell["ratio"].get<double>(), 1.03, 1e-6);
    EXPECT_EQ(cell["verdict"], cell["cell"] == "busy" ? "INCONCLUSIVE" : "REGRESSED") << cell;
    // The deviation of six levels alternately 0.2 % or 2 % off their centre: that value times sqrt(6 / 5).
    const double off = cell["cell"] == "busy" ? 0.02 : 0.002;
    EXPECT_NEAR(cell["session_deviation_fraction"].get<double>(), off * std::sqrt(1.2), off * 0.02);
  }
  const std::string said = "perfbench show verdict:";
  const auto place = end.error_output.find(said);
  ASSERT_NE(place, std::string::npos) << end.error_output;
  const auto id =
      end.error_output.substr(place + said.size(), end.error_output.find('\n', place) - place - said.size());
  const auto ledger = run({"show", "verdict:" + id, "--db", "q.db", "--cell", "busy", "--format", "json"}).output;
  EXPECT_THAT(ledger,
              AllOf(HasSubstr("\"kind\": \"baseline\""), HasSubstr("\"baseline s1\""),
                    HasSubstr("\"6 other sessions count, one a day, and they deviate by 2.2 %; in the store: b1"),
                    HasSubstr("\"INCONCLUSIVE (not_significant): ")));
  const auto report = run({"report", "--db", "q.db", "--baseline", "s1"}).output;
  EXPECT_THAT(report, AllOf(HasSubstr("| +3.0 % REGRESSED"), HasSubstr("| +3 % INCONCLUSIVE"),
                            HasSubstr("6 other sessions of this cell deviate by 0.2 %")));
}

// The cell's label comes from outside and appears in a command. To a shell it is one word, and the output contains no
// command to a terminal or a CI runner.
TEST_F(StoreCommands, TheCommandThatDecidesQuotesTextFromOutside) {
  const std::string label = "a=1'; touch owned\n\x1b[31m\n::error::x `y` $(z)";
  write_sweep("s1", 0.5, 5, "2026", label);
  write_sweep("s2", 0.6, 5, "2026", label);
  ingest();
  const auto found = run({"compare", "--db", "q.db", "--baseline", "s1"});
  EXPECT_EQ(found.exit_code, 2);
  EXPECT_THAT(found.output, HasSubstr("--only 'a=1'\\''; touch owned"));
  EXPECT_THAT(found.output, testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(found.output, testing::Not(HasSubstr("\n::error::")));
  EXPECT_THAT(run({"report", "--db", "q.db", "--baseline", "s1"}).output, testing::Not(HasSubstr("\x1b")));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "owned"));
}

TEST_F(StoreCommands, CellsThatOnlyExcludedHaveNotVanished) {
  write_sweep("s1", 0.5, 1);
  ExampleRun other{.attempt = example_attempt("d", 1)};
  other.run.seq_len = 64;
  other.attempt.sweep_id = "s1";
  write_run_directory(scratch_ / "runs" / "s1" / "d", other);
  for (const std::string id : {"s2", "s3"}) {
    ExampleRun example{.attempt = example_attempt("c", 1)};
    example.attempt.sweep_id = id;
    example.attempt.only = id == "s3" ? "a=1" : "";
    write_run_directory(scratch_ / "runs" / id, example);
  }
  ingest();
  for (const auto& [sweep, vanished] : {std::pair{"s2", true}, {"s3", false}}) {
    const auto found = run({"compare", "--db", "q.db", "--baseline", "s1", "--sweep", sweep});
    EXPECT_EQ(found.output.find("vanished") != std::string::npos, vanished) << sweep << found.output;
    const auto report = run({"report", "--db", "q.db", "--baseline", "s1", "--sweep", sweep});
    EXPECT_EQ(report.exit_code, 0);
    EXPECT_EQ(report.output.find("s1 has a cell that this sweep lacks: ") != std::string::npos, vanished)
        << sweep << report.output;
  }
}

// One run, measured on two machines in the same sweeps: twice as fast on one of them, and slower than it used to be
// there.
TEST_F(StoreCommands, ReportComparesEachMachineWithItself) {
  for (const auto& [id, of_fast_s] : {std::pair{"s1", 0.50}, {"s2", 0.55}}) {
    for (int k = 1; k <= 10; ++k) {
      ExampleRun example{.attempt = example_attempt("c", k)};
      example.attempt.sweep_id = id;
      example.attempt.started_utc = std::string("2026-0") + id[1] + "-01T00:00:" + std::to_string(10 + k) + "Z";
      const bool fast = k > 5;
      if (fast) example.environment.cpu_model = "A Fast Processor";
      example.step_s.assign(6, (fast ? of_fast_s : 1.0) * (1 + 0.001 * (k % 5)));
      write_run_directory(scratch_ / "runs" / id / std::to_string(k), example);
    }
  }
  ingest();
  const auto report = nlohmann::json::parse(
      run({"report", "--db", "q.db", "--sweep", "s2", "--baseline", "s1", "--format", "json"}).output);
  ASSERT_EQ(report["rows"].size(), 2U) << report;
  for (const auto& row : report["rows"]) {
    const double expected = row["processor"].get<std::string>().starts_with("A Fast") ? 1.1 : 1.0;
    EXPECT_NEAR(row["baseline_ratio"].get<double>(), expected, 1e-6) << row;
  }
}

TEST_F(StoreCommands, CompareExitsWithTheCodeOfItsVerdict) {
  write_quiet_year();
  write_sweep("s1", 0.5, 5);
  write_sweep("s2", 0.6, 5);
  ingest();
  const auto slower = run({"compare", "--db", "q.db", "--baseline", "s1"});
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_THAT(slower.output, HasSubstr("REGRESSED"));
  const auto faster = run({"compare", "--db", "q.db", "--sweep", "s1", "--baseline", "s2", "--format", "json"});
  EXPECT_EQ(faster.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(faster.output)["overall"], "IMPROVED");
  const auto published = run({"compare", "--db", "q.db", "--baseline", "published:maxtext/llama2-7b-8xh100"});
  EXPECT_EQ(published.exit_code, 2);
  EXPECT_THAT(published.output, HasSubstr("not comparable because: device CPU"));
}

TEST_F(StoreCommands, ABaselineIsSetListedAndCompared) {
  write_quiet_year();
  write_sweep("s1", 0.5, 5);
  write_sweep("s2", 0.6, 5);
  ingest();
  const auto set = run({"baseline", "set", "v1", "--db", "q.db", "--from", "s1", "--reason", "first release"});
  EXPECT_EQ(set.exit_code, 0) << set.error_output;
  EXPECT_THAT(set.output, HasSubstr("5 runs"));
  const auto import = run({"baseline", "import", "goal", "--db", "q.db", "--from", "published:maxtext/llama2-7b-8xh100",
                           "--reason", "what others reach", "--author", "eve", "--expires", "2999-01-01"});
  EXPECT_EQ(import.exit_code, 0) << import.error_output;
  const auto list = run({"baseline", "list", "--db", "q.db"});
  for (const auto* part : {"v1", "anchor", "first release", "in force", "goal", "published", "eve", "2999-01-01"}) {
    EXPECT_THAT(list.output, HasSubstr(part));
  }
  EXPECT_EQ(run({"compare", "--db", "q.db", "--baseline", "v1"}).exit_code, 1);
  EXPECT_THAT(run({"report", "--db", "q.db", "--baseline", "v1"}).output, HasSubstr("REGRESSED"));
}

TEST_F(StoreCommands, AGateJudgesSeveralMetricsAtOnceAndImprovementsAskForARefresh) {
  write_quiet_year();
  write_sweep("s1", 0.5, 8);
  write_sweep("s2", 0.6, 8);
  ingest();
  run({"baseline", "set", "v1", "--db", "q.db", "--from", "s1", "--reason", "r"});
  const auto gate = run({"compare", "--db", "q.db", "--baseline", "v1", "--metric", "gate", "--format", "json"});
  EXPECT_EQ(gate.exit_code, 1) << gate.error_output;
  const auto cells = nlohmann::json::parse(gate.output)["cells"];
  ASSERT_EQ(cells.size(), 5U);
  EXPECT_EQ(cells[0]["metric"], "step_time_s");
  EXPECT_EQ(cells[1]["metric"], "step_time_mean_s");
  for (const std::size_t i : {0U, 1U}) EXPECT_EQ(cells[i]["verdict"], "REGRESSED") << cells[i];
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(cells[i]["verdict"], "SAME") << cells[i];
  run({"baseline", "set", "v2", "--db", "q.db", "--from", "s2", "--reason", "r", "--kind", "rolling"});
  const auto better = run({"compare", "--db", "q.db", "--sweep", "s1", "--baseline", "v2"});
  EXPECT_EQ(better.exit_code, 0);
  EXPECT_THAT(better.output, HasSubstr("perfbench baseline set v2 --kind rolling --from s1 --reason 'improved'"));
}

// Each matrix in a database has its own sweeps, and "latest" is the newest of all.
TEST_F(StoreCommands, AReportOfOneMatrixSaysWhichOthersItLeavesOutAndShowsThemOnRequest) {
  write_sweep("s1", 0.4, 1, "2026", "c", "llama");
  write_sweep("s2", 0.5, 1, "2026", "c", "llama");
  write_sweep("s3", 0.6, 1, "2026", "c", "gpu");
  ingest();
  const auto latest = run({"report", "--db", "q.db"});
  EXPECT_EQ(latest.exit_code, 0);
  EXPECT_THAT(latest.output, AllOf(HasSubstr("## gpu"), testing::Not(HasSubstr("## llama"))));
  EXPECT_THAT(latest.error_output, AllOf(HasSubstr("the newest sweep, of gpu; left out are those of: llama."),
                                         HasSubstr("--matrix '*' of each")));
  const auto llama = run({"report", "--db", "q.db", "--matrix", "llama"});
  EXPECT_THAT(llama.output, AllOf(HasSubstr("## llama"), HasSubstr("| 0.5005"), testing::Not(HasSubstr("0.4004"))));
  EXPECT_EQ(llama.error_output, "");
  const auto each = run({"report", "--db", "q.db", "--matrix", "*"});
  EXPECT_EQ(each.exit_code, 0);
  EXPECT_LT(each.output.find("## gpu"), each.output.find("\n## llama"));
  EXPECT_THAT(each.output, AllOf(HasSubstr("0.6006"), HasSubstr("0.5005"), testing::Not(HasSubstr("0.4004"))));
  const auto rows = nlohmann::json::parse(
      run({"report", "--db", "q.db", "--matrix", "gpu", "--matrix", "ll*", "--format", "json"}).output)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["matrix"], "gpu");
  EXPECT_EQ(rows[1]["matrix"], "llama");
  const auto unknown = run({"report", "--db", "q.db", "--matrix", "lama"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output, AllOf(HasSubstr("did you mean 'llama'"), HasSubstr("has sweeps of: gpu, llama")));
  EXPECT_EQ(run({"report", "--db", "q.db", "--matrix", "gpu", "--sweep", "s1"}).exit_code, 3);
  // A row that cannot be read is named, and the others are not affected.
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute(
          "UPDATE attempts SET state = 'bogus' WHERE sweep_key = (SELECT sweep_key FROM sweeps WHERE sweep_id = 's3')");
  const auto others = run({"report", "--db", "q.db", "--matrix", "*"});
  EXPECT_EQ(others.exit_code, 3);
  EXPECT_THAT(others.output, AllOf(HasSubstr("## llama"), testing::Not(HasSubstr("## gpu"))));
  EXPECT_THAT(others.error_output, HasSubstr("state is 'bogus'"));
}

// A row that somebody changed, or that a newer perfbench wrote, is named, and everything else still works.
TEST_F(StoreCommands, ARowThatCannotBeReadIsNamedAndLeftOut) {
  write_quiet_year();
  write_sweep("s1", 0.5, 6);
  write_sweep("s2", 0.5, 6);
  write_sweep("s3", 0.6, 6);
  ingest();
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute("UPDATE attempts SET state = 'bogus' WHERE attempt = 3 AND started_utc GLOB '2026-01*'");
  const auto named = AllOf(HasSubstr("q.db: the row of attempts with attempt_key 33 (attempt 3 of run "),
                           HasSubstr("state is 'bogus'"), HasSubstr("perfbench ingest"), HasSubstr("(left out)"));
  const auto of_it = run({"report", "--db", "q.db", "--sweep", "s1"});
  EXPECT_EQ(of_it.exit_code, 3);
  EXPECT_THAT(of_it.output, HasSubstr("| Step Time ("));
  EXPECT_THAT(of_it.error_output, named);
  EXPECT_EQ(run({"report", "--db", "q.db"}).exit_code, 0) << "of another sweep";
  // Compares memory, because no speed is the same within 2 % among the sessions around s3.
  const auto same =
      run({"compare", "--db", "q.db", "--sweep", "s2", "--baseline", "s1", "--metric", "peak_memory_bytes"});
  EXPECT_EQ(same.exit_code, 3);
  EXPECT_THAT(same.output, HasSubstr("SAME"));
  EXPECT_THAT(same.error_output, named);
  const auto slower = run({"compare", "--db", "q.db", "--sweep", "s3", "--baseline", "s1"});
  EXPECT_EQ(slower.exit_code, 1) << "a regression is one all the same";
  EXPECT_THAT(slower.error_output, named);
  const auto set = run({"baseline", "set", "v1", "--db", "q.db", "--from", "s1", "--reason", "r"});
  EXPECT_EQ(set.exit_code, 3);
  EXPECT_THAT(set.output, HasSubstr("5 runs"));
  EXPECT_THAT(set.error_output, named);
  EXPECT_EQ(run({"baseline", "list", "--db", "q.db"}).exit_code, 0);
  const auto exported = run({"export", "--db", "q.db", "--select", "s1", "s1.perfbench"});
  EXPECT_EQ(exported.exit_code, 3);
  EXPECT_THAT(exported.error_output, named);
  EXPECT_THAT(run({"import", "--db", "w.db", "s1.perfbench"}).output, HasSubstr("5 attempts added"));
  EXPECT_EQ(run({"alerts", "list", "--db", "q.db"}).exit_code, 0);
}

TEST_F(StoreCommands, ARunThatCannotBeReadLeavesItsAttemptsOut) {
  write_sweep("s1", 0.5, 2);
  ExampleRun other{.attempt = example_attempt("d", 1)};
  other.run.seq_len = 64;
  other.attempt.sweep_id = "s1";
  write_run_directory(scratch_ / "runs/s1/other", other);
  ingest();
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute("UPDATE runs SET run_json = '{\"colour\":1}' WHERE seq_len = 64");
  const auto end = run({"report", "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.output, HasSubstr("0.5008"));
  EXPECT_THAT(end.error_output, AllOf(HasSubstr("the row of runs with run_id "), HasSubstr("colour")));
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000).execute("UPDATE runs SET run_json = '{'");
  const auto nothing = run({"report", "--db", "q.db"});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.error_output, HasSubstr("there is nothing else in 'latest'"));
}

TEST_F(StoreCommands, ASweepIsResumedOverARowThatCannotBeRead) {
  write_text(
      scratch_ / "m.yaml",
      "name: m\ndefaults: {model: gpt-mini, seq_len: 16, global_batch: 1, steps: 3}\naxes: {seed: [100, 101]}\n");
  const auto sweep = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "sweep", "m.yaml"});
    return run_process(
        {.command = more,
         .working_dir = scratch_.path(),
         .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}, {"PERFBENCH_ENGINE", PERFBENCH_FAKE_ENGINE}}});
  };
  ASSERT_EQ(sweep({}).exit_code, 0);
  Connection(scratch_ / "perf.db", OpenMode::read_write, 1000)
      .execute("UPDATE attempts SET state = 'bogus' WHERE attempt_key = 1");
  const auto end = sweep({"--resume"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.output, AllOf(HasSubstr("1 ok, 1 done before"), HasSubstr("| Step Time ("))) << end.error_output;
  EXPECT_THAT(end.error_output, HasSubstr("the row of attempts with attempt_key 1"));
}

TEST_F(StoreCommands, AnExportWithAnInvalidRecordLeavesTheDatabaseUnchanged) {
  write_sweep("s1", 0.5, 2);
  ingest();
  ASSERT_EQ(run({"export", "--db", "q.db", "good.perfbench"}).exit_code, 0);
  const auto header = read_archive(scratch_ / "good.perfbench", scratch_ / "records");
  auto records = read_text(scratch_ / "records");
  const std::string ok = "\"state\":\"ok\"";
  ASSERT_NE(records.find(ok), std::string::npos);
  write_text(scratch_ / "records", records.replace(records.find(ok), ok.size(), "\"state\":\"bogus\""));
  write_archive(header, scratch_ / "records", scratch_ / "bad.perfbench");
  const auto end = run({"import", "--db", "w.db", "good.perfbench", "bad.perfbench"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.output, HasSubstr("good.perfbench: 2 attempts added"));
  EXPECT_THAT(end.error_output,
              AllOf(HasSubstr("bad.perfbench"), HasSubstr("'state' is 'bogus', which is not one of its values")));
  EXPECT_EQ(run({"report", "--db", "w.db"}).exit_code, 0);
  EXPECT_EQ(run({"import", "--db", "w.db", "--unpacked-limit", "10000", "good.perfbench"}).exit_code, 3);
}

TEST_F(StoreCommands, AnExportOfEverythingNamesWhatCannotBeReadAndHasTheRest) {
  write_sweep("s1", 0.5, 2);
  ingest();
  Connection(scratch_ / "q.db", OpenMode::read_write, 1000)
      .execute("UPDATE attempts SET state = 'bogus' WHERE attempt = 2");
  const auto exported = run({"export", "--db", "q.db", "rest.perfbench"});
  EXPECT_EQ(exported.exit_code, 3);
  EXPECT_THAT(exported.output, HasSubstr("1 attempts"));
  EXPECT_THAT(exported.error_output, AllOf(HasSubstr("attempt_key 2"), HasSubstr("state is 'bogus'")));
  EXPECT_THAT(run({"import", "--db", "w.db", "rest.perfbench"}).output, HasSubstr("1 attempts added"));
}

TEST_F(StoreCommands, WrongInputExitsWithThreeAndExplainsTheMistake) {
  write_sweep("s1", 0.5, 1);
  ingest();
  struct Case {
    std::vector<std::string> arguments;
    const char* part;
  };
  for (const auto& [arguments, part] :
       {Case{{"report", "--db", "none.db"}, "none.db does not exist"},
        Case{{"report", "--db", "q.db", "--sweep", "s2"}, "did you mean 's1'"},
        Case{{"report", "--db", "q.db", "--format", "pdf"}, "pdf"},
        Case{{"compare", "--db", "q.db", "--baseline", "nothing"}, "no baseline 'nothing'"},
        Case{{"compare", "--db", "q.db", "--baseline", "s1", "--metric", "step_time"}, "did you mean 'step_time_s'"},
        Case{{"baseline", "set", "v1", "--db", "q.db"}, "--reason"},
        Case{{"baseline", "set", "v1", "--db", "q.db", "--reason", "r", "--expires", "2020-01-01"}, "has passed"},
        Case{{"baseline", "set", "a:b", "--db", "q.db", "--reason", "r"}, "must not contain ':'"},
        Case{{"baseline", "set", "v1", "--db", "q.db", "--reason", "r", "--expires", "2030-02-30"}, "not a date"},
        Case{{"baseline", "import", "v1", "--db", "q.db", "--reason", "r", "--from", "none.csv"}, "cannot be read"},
        Case{{"ingest", "nowhere", "--db", "q.db"}, "is not a folder"}}) {
    const auto end = run(arguments);
    EXPECT_EQ(end.exit_code, 3) << end.error_output;
    EXPECT_THAT(end.error_output, HasSubstr(part));
  }
}

}  // namespace
}  // namespace perfbench::harness
