// compare --ab and bisect as a user runs them, with simulated engines of known speed.
#include <nlohmann/json.hpp>

#include "tests/harness/faults/fault_fixture.h"
#include "tests/harness/pairs/revision_repository.h"

namespace perfbench::harness {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class AbCommand : public Faults {
 protected:
  void SetUp() override {
    write_matrix({100, 101});
    make_engine("same", "");
    make_engine("slow", "PERFBENCH_FAKE_SPEED=1.05");
    make_engine("fast", "PERFBENCH_FAKE_SPEED=0.95");
  }

  // Makes the folder NAME/bin/perfbench-engine: the fake engine with these variables.
  void make_engine(const std::string& name, const std::string& variables) {
    const auto file = scratch_ / name / "bin/perfbench-engine";
    std::filesystem::create_directories(file.parent_path());
    const auto speed = variables.find("SPEED") == std::string::npos ? "PERFBENCH_FAKE_SPEED=1 " : "";
    write_text(file, std::string("#!/bin/sh\n") + speed + variables + " exec " + PERFBENCH_FAKE_ENGINE + " \"$@\"\n");
    std::filesystem::permissions(file, std::filesystem::perms::all);
  }

  // This machine may be busy with other tests, which does not affect the times that the fake engine reports.
  static std::vector<std::string> calm(std::vector<std::string> arguments) {
    for (const auto* option : {"--most-foreign", "--most-steal"}) arguments.insert(arguments.end(), {option, "1000"});
    return arguments;
  }
  ProcessRequest compare_request(const std::string& a, const std::string& b,
                                 const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"compare", "--ab", a,        b,  "faults.yaml", "--db", "f.db",
                                       "--pairs", "8",    "--seed", "5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return request(calm(arguments));
  }
  ProcessEnd compare(const std::string& a, const std::string& b, const std::vector<std::string>& options = {}) {
    return run_process(compare_request(a, b, options));
  }
  // A run directory as a kill leaves it between the write of attempt.json and the store: a copy of the first run's,
  // with this number.
  std::string leave_a_finished_run(int number) const {
    const auto run = std::filesystem::directory_iterator(scratch_ / "f.runs")->path();
    const auto left = run / ("0" + std::to_string(number));
    std::filesystem::copy(run / "001", left);
    auto record = read_text(left / "attempt.json");
    const std::string first = "\"attempt\":1,";
    record.replace(record.find(first), first.size(), "\"attempt\":" + std::to_string(number) + ",");
    write_text(left / "attempt.json", record);
    return left.string();
  }
  std::int64_t count(const std::string& sql) {
    const auto db = open_database(scratch_ / "f.db");
    Statement rows(db, sql);
    EXPECT_TRUE(rows.step());
    return rows.integer(0);
  }
};

// Its times do not vary, so the smallest numbers of turns and pairs are enough.
TEST_F(AbCommand, DetectsTheRequestedDifferenceAndDoesNotCountItsPilots) {
  const auto detect = [this](const std::string& b) {
    return run_process(request({"compare", "--ab", "./same", b, "faults.yaml", "--db", "f.db", "--only", "seed=100",
                                "--detect", "2%", "--within", "10m", "--seed", "5"}));
  };
  const auto slower = detect("./slow");
  EXPECT_EQ(slower.exit_code, 1) << slower.output << slower.error_output;
  EXPECT_THAT(slower.output, ContainsRegex("\\| seed=100 +\\| step_time_s +\\| REGRESSED +\\|"));
  EXPECT_THAT(slower.output, HasSubstr("--detect 2.0 %: at most 12 pairs of 10 turns"));
  EXPECT_EQ(count("SELECT count(*) FROM ab_pairs"), 8) << "the pilots do not count";
  EXPECT_EQ(count("SELECT count(*) FROM attempts"), 2 * (2 + 8) + 2) << "and the traced pair";
  EXPECT_EQ(count("SELECT count(DISTINCT run_key) FROM attempts"), 3) << "of the pilots, the pairs and the traces";
  EXPECT_EQ(detect("./same").exit_code, 0);
}

TEST_F(AbCommand, RefusesADifferenceThatNoPlanFindsBeforeAnyPairIsTested) {
  const auto end = run_process(request({"compare", "--ab", "./same", "./slow", "faults.yaml", "--db", "f.db", "--only",
                                        "seed=100", "--detect", "0.1%"}));
  EXPECT_EQ(end.exit_code, 2) << end.output << end.error_output;
  EXPECT_THAT(
      end.output,
      HasSubstr(
          "detecting 0.1 % takes longer runs than --timeout allows, or the difference is smaller than that of two "
          "process runs"));
  EXPECT_EQ(count("SELECT count(*) FROM ab_pairs"), 0);
}

TEST_F(AbCommand, ASlowBIsRedAndAFastBIsNot) {
  const auto slower = compare("./same", "./slow");
  EXPECT_EQ(slower.exit_code, 1) << slower.error_output;
  EXPECT_THAT(slower.output, ContainsRegex("\\| seed=100 +\\| step_time_s +\\| REGRESSED +\\|"));
  EXPECT_THAT(slower.output, HasSubstr("| +5."));
  EXPECT_THAT(slower.output, HasSubstr("seed 5"));
  EXPECT_THAT(slower.output, testing::AnyOf(HasSubstr("instructions: not available here (perf_event_open: "),
                                            HasSubstr("instructions (user mode, B / A")));
  EXPECT_THAT(slower.error_output, HasSubstr("to the next looks"));
  const auto faster = compare("./same", "./fast");
  EXPECT_EQ(faster.exit_code, 0) << faster.output << faster.error_output;
  EXPECT_THAT(faster.output, HasSubstr("IMPROVED"));
  const auto same = compare("./same", "./same");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output, Not(HasSubstr("IMPROVED")));
}

TEST_F(AbCommand, MemoryAndLossAreGatedBesideSpeed) {
  make_engine("large", "PERFBENCH_FAKE_SIZE=1.02");
  make_engine("wrong", "PERFBENCH_FAKE_LOSS=1.01");
  const auto large = compare("./same", "./large", {"--format", "json", "--gate"});
  EXPECT_EQ(large.exit_code, 1) << large.error_output;
  const auto report = Json::parse(large.output);
  EXPECT_EQ(report["overall"], "REGRESSED");
  EXPECT_EQ(report["gate"]["outcome"], "failed");
  for (const auto& metric : report["cells"][0]["metrics"]) {
    EXPECT_EQ(metric["verdict"], metric["metric"] == "peak_memory_bytes" ? "REGRESSED" : "SAME") << metric;
  }
  EXPECT_EQ(compare("./same", "./wrong", {"--metrics", "final_loss"}).exit_code, 1);
  EXPECT_EQ(compare("./same", "./wrong", {"--metrics", "step_time_s"}).exit_code, 0);
  EXPECT_EQ(compare("./same", "./wrong", {"--metrics", "final_loss", "--margin", "final_loss=0.02"}).exit_code, 0);
}

TEST_F(AbCommand, ABThatCrashesIsARegression) {
  make_engine("crash", "PERFBENCH_FAKE_BEHAVIOUR=2");
  const auto end = compare("./same", "./crash");
  EXPECT_EQ(end.exit_code, 1) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("B failed 6 of 6 times (crashed"));
  EXPECT_EQ(compare("./crash", "./same").exit_code, 2) << "there is nothing with which to compare B";
  EXPECT_EQ(count("SELECT count(*) FROM ab_pairs WHERE discarded LIKE '%crashed%'"), 2 * (6 + 3));
}

TEST_F(AbCommand, ABThatDivergesIsARegressionAndIfBothDoItIsNoted) {
  make_engine("diverging", "PERFBENCH_FAKE_BEHAVIOUR=12");
  const std::string lost = "diverged: the loss became infinite at step 1; the gradient norm became NaN at step 1";
  const auto worse = compare("./same", "./diverging", {"--gate"});
  EXPECT_EQ(worse.exit_code, 1) << worse.error_output;
  EXPECT_THAT(worse.output, HasSubstr("B failed 6 of 6 times (" + lost + "), A failed 0 of 6 times"));
  EXPECT_THAT(worse.output, HasSubstr("gate: failed"));
  const auto both = compare("./diverging", "./diverging", {"--gate"});
  EXPECT_EQ(both.exit_code, 2) << both.error_output;
  EXPECT_THAT(both.output, HasSubstr("A failed 3 of 3 times (" + lost + "), B failed 3 of 3 times (" + lost + ")"));
  EXPECT_THAT(both.output, Not(HasSubstr("SAME")));
  EXPECT_THAT(both.output, HasSubstr("gate: refused"));
}

TEST_F(AbCommand, EverythingIsInTheStore) {
  ASSERT_EQ(compare("./same", "./slow").exit_code, 1);
  EXPECT_EQ(count("SELECT count(*) FROM ab_pairs"), 2 * 8);
  EXPECT_EQ(count("SELECT count(*) FROM attempts JOIN sweeps USING (sweep_key) JOIN ab_comparisons "
                  "ON sweep_id = comparison_id"),
            2 * 2 * 8 + 2 * 2)
      << "and a traced run of each side of each cell, as both are slower";
  EXPECT_EQ(count("SELECT seed FROM ab_comparisons WHERE finished_utc IS NOT NULL"), 5);
  EXPECT_EQ(count("SELECT count(*) FROM ab_verdicts WHERE metric = 'step_time_s' AND verdict = 'REGRESSED'"), 2);
  EXPECT_EQ(count("SELECT count(DISTINCT first_side) FROM ab_pairs"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM ab_pairs JOIN attempts a ON a_attempt_key = a.attempt_key JOIN attempts b ON "
                  "b_attempt_key = b.attempt_key WHERE (a_attempt_key < b_attempt_key) = (first_side = 'A')"),
            2 * 8)
      << "the side that the order named ran first";
}

// Prints what was recorded, in text and JSON: nothing is decided again.
TEST_F(AbCommand, ShowPrintsTheBasisOfTheVerdict) {
  const auto compared = compare("./same", "./slow", {"--only", "seed=100", "--format", "json"});
  ASSERT_EQ(compared.exit_code, 1) << compared.error_output;
  const auto id = Json::parse(compared.output)["comparison"].get<std::string>();
  const auto show = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments{"show", "verdict:" + id, "--db", "f.db"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_process(request(arguments));
  };
  const auto text = show({}).output;
  EXPECT_THAT(text, HasSubstr("verdict:" + id + " (pairs), matrix faults"));
  EXPECT_THAT(text, HasSubstr("looks at 4, 8 pairs"));
  EXPECT_THAT(text, HasSubstr("step_time_s, look: decided on 8 pairs"));
  EXPECT_THAT(text, HasSubstr("step_time_s, answer: REGRESSED (significant)"));
  const auto json = Json::parse(show({"--format", "json", "--cell", "seed=100"}).output);
  EXPECT_EQ(json["kind"], "pairs");
  EXPECT_GT(json["lines"].size(), 10U);
  EXPECT_THAT(show({"--format", "csv"}).output, HasSubstr("verdict,cell,metric,part,text"));
  const auto wrong = show({"--cell", "seed=10"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.error_output, HasSubstr("did you mean 'seed=100'"));
  const auto none = run_process(request({"show", "verdict:none", "--db", "f.db"}));
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.error_output, HasSubstr("the newest: " + id));
}

TEST_F(AbCommand, PairsTakeTurnsWhereBothSidesCan) {
  const auto end = compare("./same", "./slow", {"--format", "json"});
  EXPECT_EQ(end.exit_code, 1) << end.error_output;
  const auto report = Json::parse(end.output);
  for (const auto& cell : report["cells"]) {
    EXPECT_EQ(cell["in_turns"], true);
    EXPECT_EQ(cell["apart_because"], "");
  }
  EXPECT_EQ(count("SELECT count(*) FROM ab_turns WHERE abs(step_log_ratio - 0.0488) < 0.005"), 2 * 8);
  EXPECT_THAT(compare("./same", "./slow").output,
              HasSubstr("the pairs of 2 of 2 cells. Step times are compared turn by turn"));
}

// Its thread keeps a core busy during the other side's steps. The fake engine simulates its times, so the pairs see no
// difference at all, even where a machine with few cores is slowed.
TEST_F(AbCommand, ASideThatWorksInTheOthersStepsIsUndecidedAndNamed) {
  make_engine("rests", "PERFBENCH_FAKE_STEP_MS=4");
  make_engine("spins", "PERFBENCH_FAKE_STEP_MS=4 PERFBENCH_FAKE_SPINS=1");
  const auto calm = compare("./rests", "./rests", {"--only", "seed=100"});
  EXPECT_EQ(calm.exit_code, 0) << calm.output << calm.error_output;
  const auto busy = compare("./rests", "./spins", {"--only", "seed=100", "--gate", "--format", "json"});
  EXPECT_EQ(busy.exit_code, 2) << busy.output << busy.error_output;
  const auto report = Json::parse(busy.output);
  EXPECT_EQ(report["gate"]["outcome"], "refused");
  const auto& cell = report["cells"][0];
  EXPECT_EQ(cell["pairs_used"], 4) << "more pairs do not help";
  EXPECT_GT(cell["cores_while_waiting"]["B"], 0.05);
  EXPECT_LT(cell["cores_while_waiting"]["A"], 0.05);
  for (const auto& metric : cell["metrics"]) {
    if (metric["reason"] == "exact") continue;
    EXPECT_EQ(metric["reason"], "busy_while_waiting") << metric;
    EXPECT_THAT(metric["detail"].get<std::string>(), HasSubstr("B computed during A's steps: its threads used "));
    EXPECT_THAT(metric["detail"].get<std::string>(), HasSubstr("--pairing apart"));
  }
  EXPECT_EQ(compare("./spins", "./rests", {"--only", "seed=100"}).exit_code, 2);
  EXPECT_EQ(compare("./rests", "./spins", {"--only", "seed=100", "--pairing", "apart"}).exit_code, 0)
      << "where no step of the other side is disturbed";
}

TEST_F(AbCommand, PairsFollowEachOtherWhereASideHasNoTurnsAndSayWhy) {
  make_engine("older", "PERFBENCH_FAKE_WITHOUT_TURNS=1");
  const auto older = compare("./older", "./slow");
  EXPECT_EQ(older.exit_code, 1) << older.error_output;
  EXPECT_THAT(older.output,
              HasSubstr("one run after the other: the pairs of 2 of 2 cells: the engine of ./older has no --turns"));
  EXPECT_EQ(count("SELECT count(*) FROM ab_turns"), 0);
  EXPECT_EQ(compare("./same", "./slow", {"--pairing", "apart"}).exit_code, 1);
  EXPECT_EQ(count("SELECT count(*) FROM ab_turns"), 0);
  const auto forced = compare("./same", "./older", {"--pairing", "turns"});
  EXPECT_EQ(forced.exit_code, 3);
  EXPECT_THAT(forced.error_output, HasSubstr("--pairing turns: seed=100: the engine of ./older has no --turns"));
}

TEST_F(AbCommand, PairsFollowEachOtherWhereBothDoNotFitIntoMemory) {
  const auto plan = run_process(request({"plan", "faults.yaml", "--format", "json"}));
  const auto memory = Json::parse(plan.output)["cells"][0]["memory_available_bytes"].get<std::int64_t>();
  make_engine("large", "PERFBENCH_FAKE_NEEDS_BYTES=" + std::to_string(memory / 10 * 6));
  const auto both = compare("./large", "./large");
  EXPECT_EQ(both.exit_code, 0) << both.error_output;
  EXPECT_THAT(both.output, HasSubstr("the pairs of 2 of 2 cells: both together need "));
  EXPECT_EQ(count("SELECT count(*) FROM ab_turns"), 0);
  EXPECT_THAT(compare("./large", "./same").output,
              testing::AllOf(HasSubstr("in turns: A and B alternate"),
                             HasSubstr("Doubling the steps per pair helps as much as")));
}

TEST_F(AbCommand, IsCancelledWhileAnEngineIsAskedAboutTurns) {
  make_engine("deaf", "PERFBENCH_FAKE_HANGS=check");
  const auto end = run_process(interrupted_by_its_engine(compare_request("./deaf", "./same")));
  EXPECT_EQ(end.exit_code, 4) << end.output;
  EXPECT_THAT(end.error_output, HasSubstr("cancelled; nothing was run"));
}

TEST_F(AbCommand, AComparisonThatWasCutOffGoesOn) {
  // The tenth run hangs, and interrupts perfbench at the same time.
  make_engine("once", "");
  const auto file = scratch_ / "once/bin/perfbench-engine";
  write_text(file, "#!/bin/sh\ncase \"$3\" in */006) [ -e " + (scratch_ / "hung").string() + " ] || { touch " +
                       (scratch_ / "hung").string() + "; export PERFBENCH_FAKE_BEHAVIOUR=4; };; esac\n" +
                       "PERFBENCH_FAKE_SPEED=1.05 exec " + PERFBENCH_FAKE_ENGINE + " \"$@\"\n");
  std::filesystem::permissions(file, std::filesystem::perms::all);
  // Even-numbered runs of a cell are not always B's, so run number 6 hangs whichever side it belongs to.
  make_engine("base", "");
  write_text(scratch_ / "base/bin/perfbench-engine", read_text(file));
  const auto cut = run_process(interrupted_by_its_engine(compare_request("./base", "./once")));
  EXPECT_EQ(cut.exit_code, 4) << cut.error_output;
  EXPECT_THAT(cut.error_output, HasSubstr("--resume"));
  const auto before = count("SELECT count(*) FROM ab_pairs");
  EXPECT_GT(before, 0);
  const auto left = leave_a_finished_run(50);
  const auto rest = compare("./base", "./once", {"--resume"});
  EXPECT_EQ(rest.exit_code, 0) << rest.output << rest.error_output;
  EXPECT_THAT(rest.error_output, HasSubstr(std::to_string(before) + " pairs done before"));
  EXPECT_EQ(count("SELECT count(*) FROM ab_comparisons"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM attempts WHERE attempt = 50"), 1) << left << " was not stored";
  EXPECT_THAT(compare("./base", "./once", {"--resume"}).error_output, HasSubstr("a new one begins"));
}

TEST_F(AbCommand, AnEngineThatUnderstandsNoneOfTheRunsIsAnError) {
  make_engine("old", "");
  write_text(scratch_ / "old/bin/perfbench-engine", "#!/bin/sh\necho \"run.json: unknown key 'colour'\" >&2\nexit 3\n");
  const auto end = compare("./old", "./same");
  EXPECT_EQ(end.exit_code, 3) << end.output;
  EXPECT_THAT(end.error_output, HasSubstr("A (./old): its engine understands none of these runs"));
  EXPECT_THAT(end.error_output, HasSubstr("unknown key 'colour'"));
}

TEST_F(AbCommand, InvalidArgumentsAreReported) {
  const auto error = [this](std::vector<std::string> arguments) {
    const auto end = run_process(request(std::move(arguments)));
    EXPECT_EQ(end.exit_code, 3) << end.output;
    return end.error_output;
  };
  EXPECT_THAT(error({"compare", "--db", "f.db"}), HasSubstr("--ab A B FILE"));
  EXPECT_THAT(error({"compare", "--ab", "current", "current"}), HasSubstr("needs a matrix"));
  EXPECT_THAT(error({"compare", "faults.yaml", "--baseline", "x"}), HasSubstr("--ab"));
  EXPECT_THAT(error({"compare", "--baseline", "x", "--pairs", "8"}), HasSubstr("--ab"));
  EXPECT_THAT(error({"compare", "--ab", "a", "b", "faults.yaml", "--baseline", "x"}), HasSubstr("--baseline"));
  EXPECT_THAT(error({"compare", "--ab", "./no", "current", "faults.yaml"}), HasSubstr("'./no'"));
  EXPECT_THAT(error({"compare", "--ab", "current", "set:remt=full", "faults.yaml"}), HasSubstr("did you mean"));
}

class BisectCommand : public AbCommand {
 protected:
  ProcessEnd bisect(const std::string& good, const std::string& bad) {
    return run_process(
        request(calm({"bisect", good, bad, "faults.yaml", "--only", "seed=100", "--db", "f.db", "--pairs", "8",
                      "--repo", repository_.path().string(), "--build-cache", "cache"})));
  }
  RevisionRepository repository_{scratch_ / "repository", PERFBENCH_FAKE_ENGINE};
};

TEST_F(BisectCommand, NamesTheFirstSlowCommitAndSkipsWhatCannotBeBuilt) {
  const auto good = repository_.commit("base", "1");
  repository_.commit("harmless", "1.000");
  repository_.broken_commit("message(FATAL_ERROR broken)");
  repository_.commit("harmless too", "1.0000");
  const auto slow = repository_.commit("slower", "1.06");
  repository_.commit("later", "1.060");
  const auto end = bisect(good, "main");
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("first bad commit: " + slow + " slower"));
  EXPECT_EQ(count("SELECT count(*) FROM bisection_candidates"), 1);
  EXPECT_GE(count("SELECT count(*) FROM bisection_steps"), 3);
  EXPECT_EQ(count("SELECT count(*) FROM ab_comparisons WHERE purpose <> 'bisect'"), 0);
}

TEST_F(BisectCommand, NamesTheCommitsThatItCannotDistinguish) {
  const auto good = repository_.commit("base", "1");
  const auto broken = repository_.broken_commit("message(FATAL_ERROR broken)");
  const auto slow = repository_.commit("slower", "1.06");
  const auto end = bisect(good, "main");
  EXPECT_EQ(end.exit_code, 2) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("  " + broken));
  EXPECT_THAT(end.output, HasSubstr("  " + slow));
  EXPECT_EQ(bisect(good, good).exit_code, 3);
}

TEST_F(BisectCommand, FindsNothingIfTheCommitIsNotSlower) {
  const auto good = repository_.commit("base", "1");
  repository_.commit("harmless", "1.000");
  const auto end = bisect(good, "main");
  EXPECT_EQ(end.exit_code, 0) << end.output << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("nothing to find"));
}

TEST_F(BisectCommand, ACommitThatCannotBeBuiltIsAFailureOfCompare) {
  repository_.commit("base", "1");
  repository_.broken_commit("message(FATAL_ERROR broken)");
  const auto end = compare("HEAD~1", "HEAD", {"--repo", repository_.path().string(), "--build-cache", "cache"});
  EXPECT_EQ(end.exit_code, 4) << end.output;
  EXPECT_THAT(end.error_output, HasSubstr("cannot be built: cmake --preset failed"));
}

// Everything that was named is checked first: none of these commits can be built, and no build is tried.
TEST_F(BisectCommand, AWrongFileIsFoundBeforeAnythingIsBuilt) {
  const auto good = repository_.broken_commit("message(FATAL_ERROR broken)");
  const auto bad = repository_.broken_commit("message(FATAL_ERROR broken too)");
  write_text(scratch_ / "typo.yaml", "name: m\ndefaults: {modl: gpt-tiny, steps: none}\n");
  write_text(scratch_ / "text.db", "this is no database, and long enough to be looked at as one\n");
  write_text(scratch_ / "file", "no folder");
  const std::vector<std::string> build{"--repo", repository_.path().string(), "--build-cache", "cache"};
  const auto refused = [&](std::vector<std::string> words, const std::string& reason) {
    words.insert(words.end(), build.begin(), build.end());
    const auto end = run_process(request(words));
    EXPECT_EQ(end.exit_code, 3) << words[0] << end.output << end.error_output;
    EXPECT_THAT(end.error_output, HasSubstr(reason)) << words[0];
    EXPECT_THAT(end.error_output, Not(HasSubstr("building"))) << words[0];
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "cache")) << words[0];
  };
  for (const auto& command : {std::vector<std::string>{"bisect", good, bad}, {"compare", "--ab", good, bad}}) {
    const auto with = [&command](std::vector<std::string> more) {
      more.insert(more.begin(), command.begin(), command.end());
      return more;
    };
    refused(with({"missing.yaml"}), "[matrix] missing.yaml: cannot be opened");
    refused(with({"typo.yaml"}), "'steps' is \"none\"");
    refused(with({"faults.yaml", "--only", "sed=1"}), "did you mean 'seed'?");
    refused(with({"faults.yaml", "--db", "text.db"}), "text.db");
    refused(with({"faults.yaml", "--db", "new.db", "--runs", "file/runs"}), "--runs");
  }
  refused({"bisect", good, "nonesuch", "faults.yaml"}, "has no commit 'nonesuch'");
  refused({"compare", "--ab", good, "nonesuch", "faults.yaml"}, "has no commit 'nonesuch'");
  refused({"compare", "--ab", good, "./nothing", "faults.yaml"}, "'./nothing'");
  refused({"compare", "--ab", good, bad, "faults.yaml", "-o", "missing/out.md"}, "--output");
}

}  // namespace
}  // namespace perfbench::harness
