// list, show, diff, tag, note and the names of runs, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/evidence/run_directory.h"
#include "harness/execute/process.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

spec::RunSpec shorter() {
  auto run = example_spec();
  run.seq_len = 16;
  return run;
}

class RunNames : public testing::Test {
 protected:
  // s1: two attempts of a run; s2: one of it and one of another run; s3: one of the other run.
  RunNames() {
    add("s1", 1, example_spec(), "model=a fsdp=1", 0.5);
    add("s1", 2, example_spec(), "model=a fsdp=1", 0.6);
    add("s2", 3, example_spec(), "model=a fsdp=1", 0.5);
    add("s2", 1, shorter(), "model=b fsdp=1", 0.25);
    add("s3", 2, shorter(), "model=b fsdp=1", 0.25);
    const auto end = run({"ingest", "q.runs", "--db", "q.db"});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
  }

  void add(const std::string& sweep, std::int64_t attempt, const spec::RunSpec& spec, const std::string& cell,
           double step_s) {
    ExampleRun example{.run = spec, .attempt = example_attempt(cell, attempt)};
    example.attempt.axes = {{"model", cell.substr(6, 1)}, {"fsdp", "1"}};
    example.attempt.sweep_id = sweep;
    example.attempt.sweep_kind = SweepKind::hand;
    example.attempt.started_utc = "2026-0" + sweep.substr(1) + "-0" + std::to_string(attempt) + "T00:00:00Z";
    example.step_s.assign(6, step_s);
    write_run_directory(folder_of(spec, attempt), example);
  }
  fs::path folder_of(const spec::RunSpec& spec, std::int64_t attempt) const {
    return run_folder(scratch_ / "q.runs", run_id(spec)) / ("00" + std::to_string(attempt));
  }

  ProcessEnd run(Words arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                                        {"USER", "ada"},
                                        {"GIT_CONFIG_GLOBAL", "/dev/null"},
                                        {"GIT_CONFIG_SYSTEM", "/dev/null"}}});
  }
  nlohmann::json json(Words arguments) {
    arguments.insert(arguments.end(), {"--db", "q.db", "--format", "json"});
    const auto end = run(arguments);
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    return nlohmann::json::parse(end.output, nullptr, false);
  }
  std::string refusal(Words arguments) {
    arguments.insert(arguments.end(), {"--db", "q.db"});
    const auto end = run(arguments);
    EXPECT_EQ(end.exit_code, 3) << end.output << end.error_output;
    return end.error_output;
  }
  // The attempts that `show` finds for a name, "<start of the run id>/<number>".
  Words shown(const std::string& name) {
    Words out;
    const auto found = json({"show", name});
    for (const auto& attempt : found["attempts"]) {
      out.push_back(found["run"][0]["run_id"].get<std::string>().substr(0, 6) + "/" +
                    std::to_string(attempt["attempt"].get<int>()));
    }
    return out;
  }

  ScratchFolder scratch_;
  std::string a_ = run_id(example_spec());
  std::string b_ = run_id(shorter());
};

TEST_F(RunNames, EveryFormOfANameFindsTheSameRun) {
  const auto a = a_.substr(0, 6);
  const auto b = b_.substr(0, 6);
  EXPECT_EQ(shown(a), (Words{a + "/1", a + "/2", a + "/3"}));
  EXPECT_EQ(shown("run:" + a_), (Words{a + "/1", a + "/2", a + "/3"}));
  EXPECT_EQ(shown(a + "/2"), Words{a + "/2"});
  EXPECT_EQ(shown("attempt:" + a_ + "/2"), Words{a + "/2"});
  EXPECT_EQ(shown("s1"), (Words{a + "/1", a + "/2"})) << "of the sweep alone";
  EXPECT_EQ(shown("s3"), Words{b + "/2"});
  EXPECT_EQ(shown("latest"), Words{b + "/2"});
  EXPECT_EQ(shown(folder_of(example_spec(), 2).string()), Words{a + "/2"});
  EXPECT_EQ(shown(folder_of(example_spec(), 2).parent_path().string()), Words{a + "/3"}) << "its newest";
  ASSERT_EQ(run({"tag", a + "/1", "before", "--db", "q.db"}).exit_code, 0);
  ASSERT_EQ(run({"tag", b, "all-of-b", "--db", "q.db"}).exit_code, 0);
  EXPECT_EQ(shown("before"), Words{a + "/1"});
  EXPECT_EQ(shown("all-of-b"), (Words{b + "/1", b + "/2"}));
}

TEST_F(RunNames, UnknownAndAmbiguousNamesListTheClosestRuns) {
  EXPECT_THAT(refusal({"show", "s2"}),
              AllOf(HasSubstr("several runs"), HasSubstr(a_.substr(0, 12) + " (model=a fsdp=1"),
                    HasSubstr(b_.substr(0, 12) + " (model=b fsdp=1")));
  const auto wrong_end = a_.substr(0, 8) + (a_[8] == '0' ? '1' : '0');
  EXPECT_THAT(refusal({"show", wrong_end}),
              HasSubstr("the closest runs: " + a_.substr(0, 12) + " (model=a fsdp=1, 2026-02-03T00:00:00Z)"));
  EXPECT_THAT(refusal({"show", "model=b"}), HasSubstr("the closest runs: " + b_.substr(0, 12)));
  EXPECT_THAT(refusal({"show", "s4"}), HasSubstr("did you mean 's"));
  EXPECT_THAT(refusal({"show", a_.substr(0, 6) + "/7"}), HasSubstr("has no attempt 7; its newest is "));
  EXPECT_THAT(refusal({"show", a_.substr(0, 6) + "/x"}), HasSubstr("a number from 1"));
  EXPECT_THAT(refusal({"show", "run:xyz"}), HasSubstr("6 to 64 hex digits"));
  EXPECT_THAT(refusal({"show", ""}), HasSubstr("q.db has no run with that name"));
  EXPECT_THAT(run({"show", "latest", "--db", "none.db"}).error_output, HasSubstr("none.db does not exist"));
}

// Counted by today's engine; the simulated runs used another one, so they recorded another peak.
TEST_F(RunNames, ShowTheMemoryOfARunAndHowToRepeatIt) {
  if (!fs::exists(PERFBENCH_BINARY_DIR "/bin/perfbench-engine")) GTEST_SKIP() << "skipped: built without an engine";
  const auto end = run({"show", a_.substr(0, 6), "--db", "q.db"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("perfbench reproduce " + a_.substr(0, 12) + " --db q.db"));
  EXPECT_THAT(end.output, HasSubstr("Tensors in use at the peak of memory, as counted"));
  EXPECT_THAT(end.output, HasSubstr("The run recorded "));
  const auto tensors = json({"show", a_.substr(0, 6)})["tensors"];
  ASSERT_GT(tensors.size(), 3U);
  EXPECT_GE(tensors[0]["bytes"], tensors[1]["bytes"]);
  const auto svg = run({"show", a_.substr(0, 6), "--db", "q.db", "--format", "svg", "--chart", "memory_course"});
  EXPECT_THAT(svg.output, AllOf(HasSubstr("backward"), HasSubstr("optimizer")));
}

TEST_F(RunNames, ShowARunThatTheEngineCannotCount) {
  const auto end = run_process({.command = {PERFBENCH_BINARY_DIR "/bin/perfbench", "show", "latest", "--db", "q.db"},
                                .working_dir = scratch_.path(),
                                .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                                                {"TMPDIR", "/nonexistent"},
                                                {"PERFBENCH_ENGINE", "/nonexistent"}}});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("Tensors at the peak of memory are unknown"));
}

// Finds runs by their cells if few cells match, and otherwise by reading every row.
TEST_F(RunNames, ListTheSameRunsForEveryQueryPath) {
  for (std::int64_t i = 0; i < 70; ++i) {
    auto spec = example_spec();
    spec.seed = 100 + i;
    ExampleRun example{.run = spec, .attempt = example_attempt("n=" + std::to_string(i), 1)};
    example.attempt.axes = {{"n", std::to_string(i)}, {"state", i < 3 ? "few" : "many"}};
    example.attempt.sweep_id = "many";
    write_run_directory(scratch_ / "many" / std::to_string(i), example);
  }
  ASSERT_EQ(run({"ingest", "many", "--db", "q.db"}).exit_code, 0);
  const auto count = [this](const std::string& where) {
    return json({"list", "--where", where, "--limit", "1000"})["runs"].size();
  };
  const auto all = json({"list", "--limit", "1000"})["runs"].size();
  EXPECT_EQ(count("n=7"), 1U);
  EXPECT_EQ(count("n=1*"), 11U);
  EXPECT_EQ(count("n=*"), 70U);
  EXPECT_EQ(count("sweep_id=many"), 70U);
  EXPECT_EQ(count("matrix=*"), all);
  EXPECT_EQ(count("state=few"), 3U) << "an axis that is called as a column";
  EXPECT_EQ(count("state=ok"), all) << "and the column";
  EXPECT_EQ(count("cell=n=7"), 1U);
  EXPECT_EQ(count("run_id=" + a_.substr(0, 12)), json({"list", "--where", "run_id=" + a_})["runs"].size());
}

TEST_F(RunNames, ShowWhereTheEnvironmentIsNotThatOfTheBaseline) {
  EXPECT_THAT(run({"show", "latest", "--db", "q.db"}).output, Not(HasSubstr("baseline")));
  ASSERT_EQ(run({"baseline", "set", "v1", "--from", "s1", "--reason", "first", "--db", "q.db"}).exit_code, 0);
  EXPECT_THAT(run({"show", a_.substr(0, 6), "--db", "q.db"}).output,
              HasSubstr("The environment is that of baseline v1."));
  EXPECT_THAT(run({"show", "latest", "--db", "q.db"}).output, Not(HasSubstr("baseline"))) << "v1 has no attempt of it";
  ExampleRun elsewhere{.attempt = example_attempt("model=a fsdp=1", 4)};
  elsewhere.attempt.sweep_id = "s4";
  elsewhere.attempt.started_utc = "2026-04-01T00:00:00Z";
  elsewhere.environment.kernel = "7.0";
  write_run_directory(folder_of(example_spec(), 4), elsewhere);
  ASSERT_EQ(run({"ingest", "q.runs", "--db", "q.db"}).exit_code, 0);
  const auto facts = json({"show", a_.substr(0, 6) + "/4"})["baseline_environment"];
  ASSERT_EQ(facts.size(), 1U) << facts.dump();
  EXPECT_EQ(facts[0]["fact"], "kernel");
  EXPECT_EQ(facts[0]["run"], "7.0");
  ASSERT_EQ(run({"baseline", "set", "v1", "--from", "s3", "--reason", "again", "--db", "q.db"}).exit_code, 0);
  EXPECT_THAT(run({"show", a_.substr(0, 6), "--db", "q.db"}).output, Not(HasSubstr("baseline")))
      << "the entry that has it is in force no more";
}

// Each of two machines numbers its attempts from 1.
TEST_F(RunNames, AnAttemptThatTwoMachinesHaveIsRefused) {
  ExampleRun example{.attempt = example_attempt("model=a fsdp=1", 1)};
  example.attempt.sweep_id = "other";
  write_run_directory(scratch_ / "elsewhere/1", example);
  ASSERT_EQ(run({"ingest", "elsewhere", "--db", "q.db"}).exit_code, 0);
  EXPECT_THAT(refusal({"show", a_.substr(0, 6) + "/1"}),
              AllOf(HasSubstr("several attempts have that number"), HasSubstr("sweep 'other'")));
  EXPECT_EQ(shown((scratch_ / "elsewhere/1").string()), Words{a_.substr(0, 6) + "/1"});
  for (const int attempt : {1, 2}) write_traces(folder_of(example_spec(), attempt), example_traces());
  const auto found = json({"show", a_});
  for (const auto& attempt : found["attempts"]) {
    EXPECT_EQ(attempt["trace"].is_null(), attempt["attempt"] != 2) << attempt << " no name tells the first ones apart";
  }
}

TEST_F(RunNames, AFolderThatWasNotIngestedSaysHowToIngestIt) {
  ExampleRun example{.attempt = example_attempt("c", 9)};
  write_run_directory(scratch_ / "new/1", example);
  EXPECT_THAT(refusal({"show", "new/1"}), HasSubstr("`perfbench ingest` adds it"));
}

TEST_F(RunNames, LeadTraceToTheRunDirectory) {
  auto traces = example_traces();
  traces.erase(traces.begin() + 1, traces.end());  // the run has one rank
  write_traces(folder_of(shorter(), 2), traces);
  const auto by_name = run({"trace", "latest", "--db", "q.db", "--format", "csv"});
  EXPECT_EQ(by_name.exit_code, 0) << by_name.error_output;
  EXPECT_EQ(by_name.output, run({"trace", folder_of(shorter(), 2).string(), "--format", "csv"}).output);
  const auto origin = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"trace", "latest", "--db", "q.db", "--html", "t.html"});
    EXPECT_EQ(run(more).exit_code, 0);
    std::ostringstream text;
    text << std::ifstream(scratch_ / "t.html").rdbuf();
    const auto page = text.str();
    const auto begin = page.find(R"("kind":"origin")");
    return page.substr(begin, page.find('}', begin) - begin);
  };
  const auto environment = example_environment();
  EXPECT_THAT(origin({}), AllOf(HasSubstr(R"(["Date","2026-03-02T00:00:00Z"])"), HasSubstr(environment.cpu_model),
                                HasSubstr(environment.git_commit.substr(0, 12)), Not(HasSubstr("Compared with"))));
  EXPECT_THAT(origin({"--against", "s3"}), HasSubstr("Compared with"));
  const auto attempts = json({"show", b_})["attempts"];
  EXPECT_TRUE(attempts[0]["trace"].is_null());
  const auto name = attempts[1]["trace"].get<std::string>();
  EXPECT_EQ(name, b_.substr(0, 12) + "/2");
  EXPECT_EQ(run({"trace", name, "--db", "q.db", "--format", "csv"}).output, by_name.output);
  EXPECT_EQ(json({"diff", b_, b_})["runs"][0]["trace"], name);
  fs::rename(scratch_ / "q.runs", scratch_ / "moved");
  EXPECT_THAT(refusal({"trace", "latest"}), HasSubstr("expected at q.runs/" + b_.substr(0, 16) + "/NNN"));
  EXPECT_EQ(run({"trace", "latest", "--db", "q.db", "--runs", "moved", "--format", "csv"}).output, by_name.output);
  EXPECT_THAT(run({"trace", "latest"}).error_output,
              AllOf(HasSubstr("it contains no attempt.json"), HasSubstr("perf.db")));
}

// The content of the folder is no longer what the database stored.
TEST_F(RunNames, NeverLeadToAnotherAttemptsDirectory) {
  ExampleRun other{.run = shorter(), .attempt = example_attempt("model=b fsdp=1", 2)};
  other.attempt.sweep_id = "later";
  write_run_directory(folder_of(shorter(), 2), other);
  EXPECT_THAT(refusal({"trace", "s3"}), HasSubstr("or belongs to another attempt"));
  const auto attempt = json({"show", "s3"})["attempts"][0];
  EXPECT_TRUE(attempt["evidence"].is_null());
}

TEST_F(RunNames, LeadReproduceToTheRunDirectory) {
  EXPECT_THAT(refusal({"reproduce", "nothing"}), HasSubstr("[reproduce] 'nothing'"));
  fs::rename(scratch_ / "q.runs", scratch_ / "moved");
  EXPECT_THAT(refusal({"reproduce", "latest"}), HasSubstr("expected at q.runs/"));
}

TEST_F(RunNames, ListShowsARowForEachRunOfASweepNewestFirst) {
  const auto rows = json({"list"})["runs"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["sweep_id"], "s3");
  EXPECT_EQ(rows[3]["sweep_id"], "s1");
  EXPECT_EQ(rows[3]["attempts"], 2);
  EXPECT_NEAR(rows[3]["step_time_s"].get<double>(), 0.55, 1e-12);
  EXPECT_EQ(rows[3]["run_id"], a_);
  EXPECT_EQ(rows[3]["state"], "ok");
  EXPECT_EQ(rows[3]["kind"], "hand");
  EXPECT_THAT(run({"list", "--db", "q.db"}).output, HasSubstr(" 250 ms "));
  const auto text = run({"list", "--db", "q.db", "--limit", "1"});
  EXPECT_THAT(text.output, AllOf(HasSubstr(b_.substr(0, 12)), Not(HasSubstr(a_.substr(0, 12))),
                                 HasSubstr("These are the first 1;")));
}

TEST_F(RunNames, ListKeepsRunsThatMeetEveryCondition) {
  const auto count = [this](Words where) {
    Words words{"list"};
    for (const auto& condition : where) words.insert(words.end(), {"--where", condition});
    return json(words)["runs"].size();
  };
  EXPECT_EQ(count({"model=a"}), 2U) << "an axis";
  EXPECT_EQ(count({"cell=model=b*"}), 2U) << "a column";
  EXPECT_EQ(count({"model=a", "sweep_id=s2"}), 1U);
  EXPECT_EQ(count({"started_utc=2026-02-*"}), 2U);
  EXPECT_EQ(count({"run_id=" + a_.substr(0, 12)}), 2U) << "as it is shown";
  EXPECT_EQ(count({"run_id=" + a_}), 2U) << "as a whole";
  EXPECT_EQ(count({"state=crashed"}), 0U);
  EXPECT_THAT(refusal({"list", "--where", "modle=a"}), HasSubstr("did you mean 'model'"));
  EXPECT_THAT(refusal({"list", "--where", "a"}), HasSubstr("KEY=PATTERN is needed"));
}

TEST_F(RunNames, ListKnowsSweepsAndKindsThatNeedNoDatabase) {
  const auto sweeps = json({"list", "sweeps"})["sweeps"];
  ASSERT_EQ(sweeps.size(), 3U);
  EXPECT_EQ(sweeps[1]["sweep_id"], "s2");
  EXPECT_EQ(sweeps[1]["cells"], 2);
  ASSERT_EQ(run({"baseline", "set", "main", "--from", "s1", "--reason", "r", "--db", "q.db"}).exit_code, 0);
  EXPECT_EQ(json({"list", "baselines"})["baselines"][0]["state"], "in force");
  for (const auto* what : {"models", "hardware", "metrics", "published"}) {
    const auto end = run({"list", what, "--db", "none.db", "--format", "json", "--limit", "1000000"});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    EXPECT_GT(nlohmann::json::parse(end.output)[what].size(), 5U) << what;
  }
  EXPECT_THAT(run({"list", "published", "--where", "row=maxtext/*"}).output, HasSubstr("maxtext/"));
  EXPECT_THAT(run({"list", "metrics", "--where", "metric=final_loss"}).output, HasSubstr("nats"));
}

TEST_F(RunNames, ShowHasEverythingAboutARun) {
  ASSERT_EQ(run({"tag", "s3", "slow", "--db", "q.db"}).exit_code, 0);
  ASSERT_EQ(run({"note", b_.substr(0, 8), "the fan was broken", "--author", "bob", "--db", "q.db"}).exit_code, 0);
  const auto found = json({"show", b_.substr(0, 8)});
  EXPECT_EQ(found["tags"][0]["tag"], "slow");
  EXPECT_EQ(found["tags"][0]["attempt"], 2);
  EXPECT_EQ(found["tags"][0]["author"], "ada");
  EXPECT_EQ(found["notes"][0]["text"], "the fan was broken");
  EXPECT_EQ(found["notes"][0]["author"], "bob");
  EXPECT_TRUE(found["notes"][0]["attempt"].is_null()) << "of the run as a whole";
  EXPECT_EQ(found["attempts"][1]["sweep_id"], "s3");
  EXPECT_THAT(found["attempts"][1]["evidence"].get<std::string>(), HasSubstr("q.runs/" + b_.substr(0, 16) + "/002"));
  const auto has = [](const nlohmann::json& rows, const std::string& key, const std::string& name,
                      const nlohmann::json& value) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row[key] == name && row["value"] == value; });
  };
  EXPECT_TRUE(has(found["metrics"], "metric", "step_time_s", 0.25));
  EXPECT_TRUE(has(found["configuration"], "field", "seq_len", "16"));
  EXPECT_TRUE(has(found["environment"], "fact", "git_commit", example_environment().git_commit));
  EXPECT_LT(found["configuration"].size(), json({"show", b_.substr(0, 8), "--full"})["configuration"].size());
  EXPECT_THAT(run({"show", "slow", "--db", "q.db"}).output,
              AllOf(HasSubstr("step_time_s"), HasSubstr("Configuration")));
  EXPECT_EQ(json({"list", "--where", "tags=slow"})["runs"].size(), 1U);
  EXPECT_EQ(json({"list", "tags"})["tags"][0]["tag"], "slow");
}

TEST_F(RunNames, DiffShowsDifferencesAndGivesNoVerdict) {
  const auto found = json({"diff", a_.substr(0, 6) + "/1", "s3"});
  ASSERT_EQ(found["configuration"].size(), 1U);
  EXPECT_EQ(found["configuration"][0]["field"], "seq_len");
  EXPECT_EQ(found["configuration"][0]["right"], "16");
  EXPECT_EQ(found["environment"].size(), 0U);
  EXPECT_EQ(found["metrics"][0]["metric"], "step_time_s");
  EXPECT_EQ(found["metrics"][0]["left"], 0.5);
  EXPECT_EQ(found["metrics"][0]["right"], 0.25);
  EXPECT_EQ(found["metrics"][0]["ratio"], 0.5);
  EXPECT_THAT(run({"diff", a_.substr(0, 6), "s3", "--db", "q.db"}).output,
              AllOf(HasSubstr("The environment is the same"), HasSubstr("Two runs decide nothing about speed"),
                    HasSubstr("compare --ab")));
}

TEST_F(RunNames, ATagIsTakenOffTheRunThatHasIt) {
  ASSERT_EQ(run({"tag", "s3", "slow", "--db", "q.db"}).exit_code, 0);
  EXPECT_THAT(refusal({"tag", "s1", "slow"}), HasSubstr("is a tag of run " + b_.substr(0, 12)));
  EXPECT_THAT(refusal({"tag", "s1", "slow", "--remove"}), HasSubstr("not of the named run"));
  EXPECT_THAT(refusal({"tag", "s1", "latest"}), HasSubstr("cannot be a tag"));
  EXPECT_EQ(run({"tag", "slow", "slow", "--remove", "--db", "q.db"}).exit_code, 0);
  EXPECT_EQ(json({"list", "tags"})["tags"].size(), 0U);
  EXPECT_EQ(run({"tag", "latest", "x", "--db", "new.db"}).exit_code, 3);
  EXPECT_FALSE(fs::exists(scratch_ / "new.db")) << "a database was made for a tag";
}

}  // namespace
}  // namespace perfbench::harness
