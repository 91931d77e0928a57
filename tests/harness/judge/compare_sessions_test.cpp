// Compares runs of one session with runs of another: the difference between sessions decides, and a message says so if
// it is unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/compare.h"
#include "harness/judge/pairs_command.h"
#include "harness/stats/false_discovery.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Five runs around `middle`, a tenth of a per cent apart, all of one session.
Sample session(const std::string& id, double middle) {
  Sample out;
  for (const double off : {-0.002, -0.001, 0.0, 0.001, 0.002}) out.values.push_back(middle * std::exp(off));
  out.sessions.assign(out.values.size(), id);
  return out;
}

// `count` other sessions of five runs each, alternately `apart` above and below a level of 1.
std::vector<SessionLevel> others(std::size_t count, double apart, const std::string& machine = "m1") {
  std::vector<SessionLevel> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({.sweep_id = "night" + std::to_string(i),
                   .machine = machine,
                   .log_level = i % 2 == 0 ? apart : -apart,
                   .runs = 5});
  }
  return out;
}

TEST(BetweenSessions, UnknownSpreadIsInconclusiveHoweverFarTheRunsAreApart) {
  const auto d = decide_between_sessions(session("now", 1.2), session("then", 1.0), {}, {});
  EXPECT_EQ(d.verdict, Verdict::inconclusive);
  EXPECT_EQ(d.reason, VerdictReason::sessions_unknown);
  EXPECT_NEAR(*d.ratio, 1.2, 1e-12);
  EXPECT_FALSE(d.ratio_95) << "that of the runs alone would be too narrow";
  EXPECT_FALSE(d.p);
  EXPECT_EQ(d.sessions, 0U);
  EXPECT_THAT(d.detail, HasSubstr("it takes 5 others on this machine, each on another day, and there are 0"));
}

TEST(BetweenSessions, IsDecidedFromFiveOtherSessionsOn) {
  const auto decided = [](std::size_t count) {
    return decide_between_sessions(session("now", 1.2), session("then", 1.0), {}, others(count, 0.01));
  };
  EXPECT_EQ(decided(4).reason, VerdictReason::sessions_unknown);
  EXPECT_EQ(decided(5).verdict, Verdict::regressed);
  EXPECT_THAT(decided(5).detail, HasSubstr("; 5 other sessions of this cell deviate by 1.1 %"));
}

// The same runs, 5 % slower, each within 0.2 % of its session: the other sessions decide. If their levels are 0.2 %
// above and below, they deviate by 0.22 %, and the difference is 0.049 / (0.0022 * sqrt(2)) = 16 standard errors. At 3
// % above and below they deviate by 3.3 %, and it is one standard error.
TEST(BetweenSessions, TheSpreadOfSessionsAndNotOfRunsDecides) {
  const auto judged = [](double apart) {
    return decide_between_sessions(session("now", 1.05), session("then", 1.0), {}, others(6, apart));
  };
  EXPECT_EQ(judged(0.002).verdict, Verdict::regressed);
  EXPECT_EQ(judged(0.03).verdict, Verdict::inconclusive);
  EXPECT_EQ(judged(0.03).reason, VerdictReason::not_significant);
  EXPECT_LT(judged(0.03).ratio_95->low, 1);
  EXPECT_EQ(decide_between_sessions(session("now", 1.0), session("then", 1.0), {}, others(6, 0.002)).verdict,
            Verdict::same);
}

TEST(BetweenSessions, ThoseComparedDoNotVouchForThemselves) {
  auto known = others(4, 0.002);
  known.push_back({.sweep_id = "now", .machine = "m1", .log_level = 0, .runs = 5});
  known.push_back({.sweep_id = "then", .machine = "m1", .log_level = 0, .runs = 5});
  const auto d = decide_between_sessions(session("now", 1.2), session("then", 1.0), {}, known);
  EXPECT_EQ(d.reason, VerdictReason::sessions_unknown);
  EXPECT_EQ(d.sessions, 4U);
}

Sample on_day(Sample sample, std::int64_t day) {
  sample.days.assign(sample.values.size(), day);
  return sample;
}

std::vector<SessionLevel> on_days(std::vector<SessionLevel> levels, const std::vector<std::int64_t>& days) {
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i].day = days[i];
  return levels;
}

// Five sessions of one day are within 0.2 % of each other, and vouch only for that day.
TEST(BetweenSessions, SessionsOfOneDayCountOnce) {
  const auto judged = [](const std::vector<std::int64_t>& days) {
    return decide_between_sessions(on_day(session("now", 1.05), 8), on_day(session("then", 1.0), 2), {},
                                   on_days(others(6, 0.002), days));
  };
  EXPECT_EQ(judged({2, 3, 4, 5, 6, 7}).verdict, Verdict::regressed);
  const auto one_day = judged({2, 2, 2, 2, 2, 2});
  EXPECT_EQ(one_day.reason, VerdictReason::sessions_unknown);
  EXPECT_EQ(one_day.sessions, 1U);
  EXPECT_THAT(one_day.detail, HasSubstr("it takes 5 others on this machine, each on another day, and there is 1"));
  EXPECT_EQ(judged({2, 3, 4, 5, 6, 6}).sessions, 5U);
}

// The newest session of a day sets its level: 1 % up, while the older one was 1 % down.
TEST(BetweenSessions, TheNewestSessionOfADayCounts) {
  auto known = on_days(others(6, 0.01), {1, 2, 3, 4, 5, 5});
  const auto spread = session_spread(known, {}, {});
  EXPECT_EQ(spread.sessions, 5U);
  known[4] = known[5];
  known.pop_back();
  EXPECT_DOUBLE_EQ(spread.deviation, session_spread(known, {}, {}).deviation);
}

// Six days from the 10th to the 15th cover as much as seven days: 5 * 7 / 5.
TEST(BetweenSessions, KnownSessionsMustCoverTheDaysBetweenTheSides) {
  const auto judged = [](std::int64_t apart) {
    return decide_between_sessions(on_day(session("now", 1.05), 9 + apart), on_day(session("then", 1.0), 9), {},
                                   on_days(others(6, 0.002), {10, 11, 12, 13, 14, 15}));
  };
  EXPECT_EQ(judged(7).verdict, Verdict::regressed);
  const auto far = judged(8);
  EXPECT_EQ(far.verdict, Verdict::inconclusive);
  EXPECT_EQ(far.reason, VerdictReason::sessions_too_close);
  EXPECT_NEAR(*far.ratio, 1.05, 1e-12);
  EXPECT_FALSE(far.ratio_95);
  EXPECT_THAT(far.detail, HasSubstr("the sides are 8 days apart, but the 6 other sessions of this cell cover 7: "));
}

TEST(BetweenSessions, SidesOfUnknownDaysAreNotTooFarApart) {
  const auto known = on_days(others(6, 0.002), {10, 11, 12, 13, 14, 15});
  EXPECT_EQ(decide_between_sessions(session("now", 1.05), on_day(session("then", 1.0), 9), {}, known).verdict,
            Verdict::regressed);
  EXPECT_EQ(
      decide_between_sessions(on_day(session("now", 1.05), 900), on_day(session("then", 1.0), 9), {}, others(6, 0.002))
          .verdict,
      Verdict::regressed);
}

// `--baseline run:ID` selects all runs of the store: the newest eight are the baseline, and the sessions of the others
// are not compared.
TEST(BetweenSessions, OlderRunsOfABaselineOutsideItsMeanShowTheSpreadOfSessions) {
  Sample all;
  std::vector<SessionLevel> known;
  for (const auto& level : others(9, 0.002)) {
    const auto night = session(level.sweep_id, std::exp(level.log_level));
    all.values.insert(all.values.end(), night.values.begin(), night.values.end());
    all.sessions.insert(all.sessions.end(), night.sessions.begin(), night.sessions.end());
    known.push_back(level);
  }
  const auto d = decide_between_sessions(session("now", 1.2), all, {}, known);
  EXPECT_EQ(d.baseline_runs, 8U);
  EXPECT_EQ(d.sessions, 7U) << "nine, less the two that the eight runs are of";
  EXPECT_EQ(d.verdict, Verdict::regressed);
}

TEST(BetweenSessions, RunsOfOneSessionAreExchangeable) {
  const auto d = decide_between_sessions(session("s", 1.2), session("s", 1.0), {}, {});
  EXPECT_EQ(d.verdict, Verdict::regressed);
  EXPECT_DOUBLE_EQ(*d.p, 2.0 / 252) << "the permutation test";
  EXPECT_FALSE(d.sessions);
}

// Runs without a sweep form a session of their own, whatever the sweeps are named.
TEST(BetweenSessions, RunsWithoutASweepNeverShareASession) {
  for (const auto* name : {"", "baseline", "current"}) {
    const auto d = decide_between_sessions(session("", 1.2), session(name, 1.0), {}, {});
    EXPECT_EQ(d.reason, VerdictReason::sessions_unknown) << name;
  }
}

// 4.2 % apart with sessions that deviate by 0.22 %: found, but not if the machine's own speed may explain 4 % of it.
TEST(BetweenSessions, AProbeThatMovedWidensTheIntervalBothWays) {
  auto current = session("now", 1.042);
  auto baseline = session("then", 1.0);
  current.probe_s = baseline.probe_s = {0.001};
  const auto still = decide_between_sessions(current, baseline, {}, others(6, 0.002));
  EXPECT_EQ(still.verdict, Verdict::regressed);
  for (const double moved : {1.04, 1 / 1.04}) {
    current.probe_s = {0.001 * moved};
    const auto d = decide_between_sessions(current, baseline, {}, others(6, 0.002));
    EXPECT_EQ(d.verdict, Verdict::inconclusive) << moved;
    EXPECT_NEAR(d.ratio_95->high, still.ratio_95->high * 1.04, 1e-9);
    EXPECT_NEAR(d.ratio_95->low, still.ratio_95->low / 1.04, 1e-9);
    EXPECT_THAT(d.detail, HasSubstr("the noise probe moved by 4.0 %"));
  }
}

// If the known sessions have more runs than the sides, the deviation of runs within a session must be known too.
TEST(BetweenSessions, OneRunASideNeedsSessionsOfOneRun) {
  const Sample now{.values = {1.2}, .sessions = {"now"}};
  const Sample then{.values = {1.0}, .sessions = {"then"}};
  EXPECT_EQ(decide_between_sessions(now, then, {}, others(6, 0.002)).reason, VerdictReason::too_few_runs);
  auto single = others(6, 0.002);
  for (auto& level : single) level.runs = 1;
  EXPECT_EQ(decide_between_sessions(now, then, {}, single).verdict, Verdict::regressed);
}

std::shared_ptr<const StoredEnvironment> machine(const std::string& name, const std::string& commit) {
  StoredEnvironment out{.machine_fingerprint = name, .facts = {{"cpu_model", "same"}}};
  if (!commit.empty()) out.facts["git_commit"] = commit;
  return std::make_shared<const StoredEnvironment>(out);
}

CellRuns cell(const std::string& label, const Sample& runs, const std::string& on = "m1",
              const std::string& commit = "") {
  static std::int64_t key = 0;
  CellRuns out{.matrix = "m", .label = label, .run_id = label, .attempts = {}};
  for (std::size_t i = 0; i < runs.values.size(); ++i) {
    StoredAttempt attempt;
    attempt.key = ++key;
    attempt.sweep_id = runs.sessions[i];
    attempt.run = std::make_shared<const spec::RunSpec>();
    attempt.environment = machine(on, commit);
    attempt.metrics = {{"step_time_s", runs.values[i]}, {"peak_memory_bytes", runs.values[i]}, {"final_loss", 2.5}};
    out.attempts.push_back(attempt);
  }
  return out;
}

SessionLevels known_of(const std::vector<std::string>& run_ids, const std::vector<SessionLevel>& levels) {
  SessionLevels out;
  for (const auto& id : run_ids) out[{"m", id}] = levels;
  return out;
}

TEST(CompareWithSessions, AnUnknownSpreadNamesTheCommandThatDecides) {
  const auto found = compare_with_runs(
      {cell("a=1", session("now", 1.2), "m1", "fedcba98765432100")},
      {.scope = "b", .cells = {cell("a=1", session("then", 1.0), "m1", "0123456789abcdef")}}, "step_time_s");
  EXPECT_EQ(found[0].decision.reason, VerdictReason::sessions_unknown);
  EXPECT_THAT(found[0].decision.detail,
              EndsWith("; pairs decide: perfbench compare --ab 0123456789ab fedcba987654 matrices/m.yaml --only a=1"));
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive);
}

// The catalog does not have such a metric: its program says which direction is better, and what does not matter.
TEST(CompareWithSessions, AMetricThatAProgramDeclaresIsJudgedByItsRule) {
  spec::RunProgram program;
  program.spec.metrics["words_per_s"] = {.better = spec::Better::higher, .margin = 0.1};
  const auto declared = [&](const std::string& session_id, double words) {
    auto out = cell("a=1", session(session_id, words));
    spec::RunSpec run;
    run.program = std::make_shared<const spec::RunProgram>(program);
    for (auto& attempt : out.attempts) {
      attempt.run = std::make_shared<const spec::RunSpec>(run);
      attempt.metrics = {{"words_per_s", attempt.metrics.at("step_time_s")}};
    }
    return out;
  };
  const auto judged = [&](double words) {
    return compare_with_runs({declared("now", words)}, {.scope = "b", .cells = {declared("then", 1.0)}}, "words_per_s",
                             known_of({"a=1"}, others(6, 0.002)))[0];
  };
  EXPECT_EQ(judged(0.8).decision.verdict, Verdict::regressed) << "higher is better";
  EXPECT_EQ(judged(1.2).decision.verdict, Verdict::improved);
  EXPECT_EQ(judged(1.05).decision.verdict, Verdict::same) << "inside its margin";
  EXPECT_EQ(judged(1.05).margin_fraction, 0.1);
}

// With dates in the form of the store's attempts and nights.
TEST(CompareWithSessions, SidesFartherApartThanTheKnownSessionsNeedPairs) {
  auto now = cell("a=1", session("now", 1.2));
  auto then = cell("a=1", session("then", 1.0));
  for (auto& attempt : now.attempts) attempt.started_utc = "1970-02-20T02:00:00Z";
  for (auto& attempt : then.attempts) attempt.started_utc = "1970-01-10T02:00:00Z";
  const auto known = on_days(others(6, 0.002), {10, 11, 12, 13, 14, 15});
  const auto found = compare_with_runs({now}, {.scope = "b", .cells = {then}}, "step_time_s", known_of({"a=1"}, known));
  EXPECT_EQ(found[0].decision.reason, VerdictReason::sessions_too_close);
  EXPECT_THAT(found[0].decision.detail, HasSubstr("the sides are 41 days apart"));
  EXPECT_THAT(found[0].decision.detail, HasSubstr("; pairs decide: perfbench compare --ab "));
}

TEST(CompareWithSessions, OnlySessionsOfTheCellOnItsMachineCount) {
  const auto current = cell("a=1", session("now", 1.2));
  const RunBaseline baseline{.scope = "b", .cells = {cell("a=1", session("then", 1.0))}};
  const auto judged = [&](const SessionLevels& known) {
    return compare_with_runs({current}, baseline, "step_time_s", known)[0].decision.verdict;
  };
  EXPECT_EQ(judged(known_of({"a=1"}, others(6, 0.002))), Verdict::regressed);
  EXPECT_EQ(judged(known_of({"a=1"}, others(6, 0.002, "m2"))), Verdict::inconclusive);
  EXPECT_EQ(judged(known_of({"a=2"}, others(6, 0.002))), Verdict::inconclusive);
}

TEST(CompareWithSessions, SessionsOfOneMachineDoNotShowTheDifferenceOfTwo) {
  const auto found = compare_with_runs({cell("a=1", session("now", 1.2))},
                                       {.scope = "b", .cells = {cell("a=1", session("then", 1.0), "m2")}},
                                       "step_time_s", known_of({"a=1"}, others(6, 0.002)));
  EXPECT_EQ(found[0].decision.reason, VerdictReason::sessions_unknown);
}

// Every session produces the same bytes and the same loss.
TEST(CompareWithSessions, AmountsThatNoSessionChangesAreDecidedFromTheRunsAlone) {
  const RunBaseline baseline{.scope = "b", .cells = {cell("a=1", session("then", 1.0))}};
  for (const auto* metric : {"peak_memory_bytes", "final_loss"}) {
    const auto found = compare_with_runs({cell("a=1", session("now", 1.2))}, baseline, metric);
    EXPECT_EQ(found[0].decision.verdict, metric == std::string("final_loss") ? Verdict::same : Verdict::regressed);
    EXPECT_FALSE(found[0].decision.sessions);
  }
}

// Twelve cells, all 3 % slower because of the machine, each cell's runs within 0.2 %: exchangeable runs would give
// twelve regressions. Earlier sessions of all cells were up to 3 % up and down.
TEST(CompareWithSessions, AShiftThatAllCellsHaveInCommonRegressesNone) {
  std::vector<CellRuns> current;
  RunBaseline baseline{.scope = "b", .cells = {}};
  std::vector<std::string> labels;
  for (int i = 0; i < 12; ++i) {
    labels.push_back("a=" + std::to_string(i));
    current.push_back(cell(labels.back(), session("now", 1.03)));
    baseline.cells.push_back(cell(labels.back(), session("then", 1.0)));
  }
  auto found = compare_with_runs(current, baseline, "step_time_s", known_of(labels, others(10, 0.02)));
  control_false_discoveries(tested_decisions(found), 0.01);
  for (const auto& one : found) EXPECT_EQ(one.decision.verdict, Verdict::inconclusive) << one.decision.detail;
  found = compare_with_runs(current, baseline, "step_time_s", known_of(labels, others(10, 0.002)));
  control_false_discoveries(tested_decisions(found), 0.01);
  for (const auto& one : found) EXPECT_EQ(one.decision.verdict, Verdict::regressed) << one.decision.detail;
}

TEST(CompareWithSessions, NumbersFromOutsideFormASeparateSession) {
  Baseline numbers;
  numbers.name = "old";
  for (const double value : session("", 1.0).values) numbers.values.push_back({"a=1", "step_time_s", value});
  const std::vector<CellRuns> current{cell("a=1", session("now", 1.2))};
  const auto unknown = compare_with_values(current, numbers, "step_time_s")[0].decision;
  EXPECT_EQ(unknown.reason, VerdictReason::sessions_unknown);
  EXPECT_THAT(unknown.detail, HasSubstr("--ab BASELINE_ENGINE current matrices/m.yaml --only a=1"));
  const auto known = compare_with_values(current, numbers, "step_time_s", known_of({"a=1"}, others(6, 0.002)));
  EXPECT_EQ(known[0].decision.verdict, Verdict::regressed);
}

TEST(CompareWithSessions, AConstantNotesWhatTheVerdictDoesNotKnow) {
  Baseline numbers;
  numbers.name = "old";
  numbers.values = {{"a=1", "step_time_s", 1.0}, {"a=1", "final_loss", 2.5}};
  const auto notes = [&](const std::string& metric) {
    return compare_with_values({cell("a=1", session("now", 1.2))}, numbers, metric)[0].notes;
  };
  EXPECT_THAT(notes("step_time_s"),
              testing::Contains("from 1 session: the verdict does not include how far sessions of this cell differ"));
  EXPECT_THAT(notes("final_loss"), Not(testing::Contains(HasSubstr("session"))));
}

TEST(PairsCommand, QuotesWordsThatAShellWouldInterpret) {
  auto odd = cell("model=it's; rm -rf ~ $(x) `y` b=\"2\"", session("now", 1.0));
  odd.matrix = "m && reboot";
  EXPECT_EQ(pairs_command(odd, nullptr),
            "perfbench compare --ab BASELINE_ENGINE current 'matrices/m && reboot.yaml' "
            "--only 'model=it'\\''s; rm -rf ~ $(x) `y`' --only 'b=\"2\"'");
  odd.label = "a=1\nb c=2";
  EXPECT_THAT(pairs_command(odd, nullptr), EndsWith(" --only 'a=1\nb' --only c=2")) << "as it is: printing escapes it";
}

TEST(PairsCommand, NamesOnlyValidCommits) {
  const auto sides = [](const std::string& commit, const std::string& dirty) {
    auto one = cell("", session("now", 1.0), "m1", commit);
    auto environment = *one.attempts.back().environment;
    environment.facts["git_dirty"] = dirty;
    one.attempts.back().environment = std::make_shared<const StoredEnvironment>(environment);
    return pairs_command(one, &one);
  };
  EXPECT_EQ(sides("0123456789abcdef", "false"), "perfbench compare --ab 0123456789ab 0123456789ab matrices/m.yaml");
  const auto* unknown = "perfbench compare --ab BASELINE_ENGINE current matrices/m.yaml";
  EXPECT_EQ(sides("0123456789abcdef", "true"), unknown) << "of a changed tree";
  EXPECT_EQ(sides("unknown", "false"), unknown);
  EXPECT_EQ(sides("--upload-pack=x;", "false"), unknown);
  EXPECT_EQ(sides("", "false"), unknown);
}

TEST(PairsCommand, ComparesTheSettingsOfTwoDifferentRuns) {
  const auto current = cell("remat=full", session("now", 1.0), "m1", "0123456789abcdef");
  auto baseline = cell("remat=none", session("then", 1.0), "m1", "0123456789abcdef");
  spec::RunSpec run;
  run.remat = "minimal";
  run.steps = 7;
  baseline.attempts.front().run = std::make_shared<const spec::RunSpec>(run);
  EXPECT_EQ(pairs_command(current, &baseline),
            "perfbench compare --ab set:remat=minimal,steps=7 current matrices/m.yaml --only remat=full");
  run.remat = "a,b";
  baseline.attempts.front().run = std::make_shared<const spec::RunSpec>(run);
  EXPECT_THAT(pairs_command(current, &baseline), HasSubstr("--ab set:KEY=VALUE,... current"));
}

}  // namespace
}  // namespace perfbench::harness
