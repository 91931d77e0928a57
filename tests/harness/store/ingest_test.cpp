#include "harness/store/attempts/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::int64_t integer(const Connection& db, const std::string& sql) {
  Statement statement(db, sql);
  EXPECT_TRUE(statement.step()) << sql;
  return statement.integer(0);
}

double metric(const Connection& db, const std::string& name) {
  Statement statement(db, "SELECT value FROM metric_values WHERE metric = ?");
  statement.with(name);
  return statement.step() ? statement.real(0) : std::nan("");
}

// The content of run directories, by names and not by keys, so that the order of ingestion does not matter.
std::vector<std::string> dump(const Connection& db) {
  const std::string attempt =
      "(SELECT run_id || sweep_id || attempt || a.started_utc FROM attempts a "
      "JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) WHERE attempt_key = t.attempt_key)";
  std::vector<std::string> out;
  for (const std::string& sql : {
           std::string("SELECT sweep_id, matrix, started_utc FROM sweeps ORDER BY 1"),
           std::string("SELECT run_id, model, scan, seq_len, devices, fsdp, run_json FROM runs ORDER BY 1"),
           std::string(
               "SELECT run_id, name, value FROM run_fields JOIN runs USING (run_key) JOIN names USING (name_key) "
               "ORDER BY 1, 2"),
           std::string("SELECT matrix, label, run_id, axis, value FROM cells JOIN runs USING (run_key) "
                       "LEFT JOIN cell_axes USING (cell_key) ORDER BY 1, 2, 3, 4"),
           std::string("SELECT fingerprint, name, value FROM environments "
                       "JOIN environment_facts USING (environment_key) JOIN names USING (name_key) ORDER BY 1, 2"),
           "SELECT " + attempt +
               ", state, reason, signal, wall_ns, record_sha256, lost_step_lines, load_1m, "
               "peak_flops_per_s, label, fingerprint FROM attempts t JOIN cells USING (cell_key) "
               "LEFT JOIN environments USING (environment_key) ORDER BY 1",
           "SELECT " + attempt + " AS who, " + column_list(columns_of<spec::StepRecord>()) +
               " FROM steps t ORDER BY who, rank, step",
           "SELECT " + attempt + " AS who, " + column_list(columns_of<spec::RunSummary>()) +
               " FROM attempt_summaries t ORDER BY who",
           "SELECT " + attempt + " AS who, " + column_list(columns_of<spec::AxisTraffic>()) +
               " FROM attempt_traffic t ORDER BY who, axis, collective",
           "SELECT " + attempt + " AS who, metric, value FROM metric_values t ORDER BY who, metric",
       }) {
    Statement rows(db, sql);
    while (rows.step()) {
      std::string line;
      for (int c = 0; c < rows.columns(); ++c) line += rows.text(c) + "|";
      out.push_back(line);
    }
  }
  return out;
}

// Two runs (one of two ranks), a repeat, and a run that could not be executed.
void write_example_tree(const fs::path& root) {
  ExampleRun one{.attempt = example_attempt("fsdp=1", 1)};
  write_run_directory(root / "one/001", one);
  one.attempt = example_attempt("fsdp=1", 2);
  one.step_s = {1.0, 0.6, 0.6, 0.6, 0.6, 0.6};
  write_run_directory(root / "one/002", one);
  ExampleRun two{.attempt = example_attempt("fsdp=2", 1)};
  two.run.mesh.ici.fsdp = 2;
  write_run_directory(root / "two/001", two);
  ExampleRun huge{.attempt = example_attempt("fsdp=4", 1)};
  huge.run.mesh.ici.fsdp = 4;
  huge.attempt.state = AttemptState::infeasible;
  huge.attempt.reason = "needs 80 GiB of 64 GiB";
  write_run_directory(root / "huge/001", huge);
}

TEST(Ingest, StoresEveryFileOfARun) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_example_tree(scratch / "runs");
  const auto report = ingest_tree(db, scratch / "runs");
  EXPECT_THAT(report.problems, ElementsAre());
  EXPECT_EQ(report.added, 4);
  EXPECT_EQ(report.step_rows, 6 + 6 + 12);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM steps"), 24);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM runs"), 3);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM sweeps"), 1);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM environments"), 1) << "equal environments are one row";
  EXPECT_EQ(integer(db, "SELECT count(*) FROM attempts WHERE state = 'infeasible' AND environment_key IS NULL"), 1);
  EXPECT_EQ(integer(db, "SELECT sent_bytes FROM attempt_traffic WHERE attempt_key = 1 OR 1 LIMIT 1"), 2048);
  EXPECT_EQ(integer(db, "SELECT DISTINCT exposed_ns FROM attempt_traffic"), 1'500'000);
  EXPECT_EQ(integer(db,
                    "SELECT count(*) FROM run_fields JOIN names USING (name_key) "
                    "WHERE name = 'attention' AND value = 'flash'"),
            3)
      << "text is stored without JSON quotes";
}

TEST(Ingest, StoresTheStepsAsTheyWereWritten) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  ingest_run_directory(db, scratch / "r");
  Statement step(db, "SELECT wall_ns, forward_ns, tokens, loss, probe_ns, peak_total_bytes FROM steps WHERE step = 2");
  ASSERT_TRUE(step.step());
  EXPECT_EQ(step.integer(0), 500'000'000);
  EXPECT_EQ(step.integer(1), 125'000'000);
  EXPECT_EQ(step.integer(2), 4 * 32);
  EXPECT_EQ(step.real(3), 6.0 - 0.1 * 2.0);
  EXPECT_EQ(step.integer(4), 1'000'000);
  EXPECT_EQ(step.integer(5), 64 << 20);
}

TEST(Ingest, ReadingsBelongToTheAttemptAndNotToTheEnvironment) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("c", 1)};
  write_run_directory(scratch / "runs/1", example);
  example.attempt = example_attempt("c", 2);
  example.environment.load_1m = 7.5;
  example.environment.peak_flops_per_s = 2e11;
  write_run_directory(scratch / "runs/2", example);
  example.attempt = example_attempt("c", 3);
  example.environment.git_commit = "fedcba9876543210";
  write_run_directory(scratch / "runs/3", example);
  ingest_tree(db, scratch / "runs");
  EXPECT_EQ(integer(db, "SELECT count(*) FROM environments"), 2)
      << "another load is not another environment, but a build is";
  EXPECT_EQ(integer(db, "SELECT count(*) FROM attempts WHERE load_1m = 7.5 AND peak_flops_per_s = 2e11"), 2);
}

TEST(Ingest, DerivesTheStepTimeWithoutTheWarmUp) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1), .step_s = {9, 0.5, 0.5, 0.5, 0.5, 0.5}});
  ingest_run_directory(db, scratch / "r");
  EXPECT_DOUBLE_EQ(metric(db, "step_time_s"), 0.5);
  EXPECT_DOUBLE_EQ(metric(db, "sequences_per_s"), 8.0);
  EXPECT_DOUBLE_EQ(metric(db, "peak_memory_bytes"), 64 << 20);
}

TEST(Ingest, RepeatedIngestChangesNothing) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_example_tree(scratch / "runs");
  ingest_tree(db, scratch / "runs");
  const auto before = dump(db);
  const auto again = ingest_tree(db, scratch / "runs");
  EXPECT_EQ(again.present, 4);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(dump(db), before);
}

TEST(Ingest, RebuildsAnEqualStoreInAnyOrder) {
  ScratchFolder scratch;
  write_example_tree(scratch / "runs");
  auto first = open_database(scratch / "a.db");
  for (const auto* folder : {"two/001", "one/002", "huge/001", "one/001"}) {
    ingest_run_directory(first, scratch / "runs" / folder);
  }
  auto second = open_database(scratch / "b.db");
  ingest_tree(second, scratch / "runs");
  EXPECT_EQ(dump(first), dump(second));
  EXPECT_GT(dump(first).size(), 100U);
}

TEST(Ingest, SkipsAnAttemptThatWasCutOff) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "runs/r/001", {.attempt = example_attempt("c", 1)});
  fs::remove(scratch / "runs/r/001/attempt.json");
  const auto report = ingest_tree(db, scratch / "runs");
  EXPECT_EQ(report.unfinished, 1);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM attempts"), 0);
}

TEST(Ingest, DropsALastLineThatWasCutOffAndSaysSo) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  auto text = read_text(scratch / "r/steps.rank0.jsonl");
  text.resize(text.size() - 40);
  write_text(scratch / "r/steps.rank0.jsonl", text);
  const auto outcome = ingest_run_directory(db, scratch / "r");
  EXPECT_EQ(outcome.lost_step_lines, 1);
  EXPECT_EQ(outcome.step_rows, 5);
  EXPECT_EQ(integer(db, "SELECT lost_step_lines FROM attempts"), 1);
}

std::string text(const Connection& db, const std::string& sql) {
  Statement statement(db, sql);
  return statement.step() ? statement.text(0) : "no row";
}

// For every kind of file, and every way in which it can be lost.
TEST(Ingest, DamagedRecordsMakeACrashedAttemptThatNamesTheFile) {
  for (const auto* file : {"env.json", "result.json", "steps.rank0.jsonl"}) {
    for (const auto damage : kEveryDamage) {
      ScratchFolder scratch;
      auto db = open_database(scratch / "a.db");
      write_run_directory(scratch / "runs/1", {.attempt = example_attempt("c", 1)});
      write_run_directory(scratch / "runs/2", {.attempt = example_attempt("c", 2)});
      damage_file(scratch / "runs/1" / file, damage);
      const auto report = ingest_tree(db, scratch / "runs");
      EXPECT_EQ(report.added, 2) << file << " " << damage_name(damage);
      EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("runs/1: stored as crashed"), HasSubstr(file))))
          << file << " " << damage_name(damage);
      EXPECT_EQ(text(db, "SELECT state FROM attempts WHERE attempt = 1"), "crashed") << file << damage_name(damage);
      EXPECT_THAT(text(db, "SELECT reason FROM attempts WHERE attempt = 1"), HasSubstr(file)) << damage_name(damage);
      EXPECT_EQ(text(db, "SELECT state FROM attempts WHERE attempt = 2"), "ok");
      EXPECT_EQ(ingest_tree(db, scratch / "runs").present, 2) << "the same attempt, and no contradiction";
    }
  }
}

TEST(Ingest, KeepsTheContentOfTheOtherFiles) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  damage_file(scratch / "r/env.json", Damage::empty);
  ingest_run_directory(db, scratch / "r");
  EXPECT_EQ(integer(db, "SELECT count(*) FROM steps"), 6);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM attempt_summaries"), 1);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM attempts WHERE environment_key IS NULL"), 1);
  EXPECT_EQ(text(db, "SELECT reason FROM attempts"),
            "it is recorded as ok, but its files are damaged; env.json is empty");
}

TEST(Ingest, AFailedAttemptGetsTheDamageAddedToItsReason) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("c", 1)};
  example.attempt.state = AttemptState::crashed;
  example.attempt.reason = "exit code 4; env.json is empty";
  write_run_directory(scratch / "runs/r", example);
  write_text(scratch / "runs/r/env.json", "");
  write_text(scratch / "runs/r/result.json", "{\"colour\": 1}");
  write_text(scratch / "runs/r/steps.rank0.jsonl", "@\n");
  const auto report = ingest_tree(db, scratch / "runs");
  EXPECT_THAT(report.problems, ElementsAre());
  EXPECT_THAT(report.damaged, ElementsAre(HasSubstr("result.json cannot be understood")));
  EXPECT_THAT(text(db, "SELECT reason FROM attempts"),
              AllOf(testing::StartsWith("exit code 4; env.json is empty; result.json cannot be understood: at /colour"),
                    HasSubstr("; steps.rank0.jsonl is damaged from line 1 on")));
}

// Without these files nothing is known about the attempt.
TEST(Ingest, RefusesADamagedRunOrAttemptAndStoresTheRest) {
  for (const auto* file : {"run.json", "attempt.json"}) {
    for (const auto damage : kEveryDamage) {
      ScratchFolder scratch;
      auto db = open_database(scratch / "a.db");
      write_run_directory(scratch / "runs/1", {.attempt = example_attempt("c", 1)});
      write_run_directory(scratch / "runs/2", {.attempt = example_attempt("c", 2)});
      damage_file(scratch / "runs/1" / file, damage);
      const auto report = ingest_tree(db, scratch / "runs");
      EXPECT_EQ(report.added, 1) << file << " " << damage_name(damage);
      EXPECT_THAT(report.problems, ElementsAre(HasSubstr(std::string("runs/1/") + file)))
          << file << " " << damage_name(damage);
    }
  }
}

TEST(Ingest, ADamagedTraceSampleOrLogCostsNoMoreThanItself) {
  for (const auto* file : {"trace.rank0.jsonl", "gpu.rank0.jsonl", "engine.log"}) {
    for (const auto damage : kEveryDamage) {
      ScratchFolder scratch;
      auto db = open_database(scratch / "a.db");
      write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
      damage_file(scratch / "r" / file, damage);
      ingest_run_directory(db, scratch / "r");
      EXPECT_EQ(text(db, "SELECT state FROM attempts"), "ok") << file << " " << damage_name(damage);
    }
  }
}

TEST(Ingest, NamesFileAndLineOfABrokenStepAndKeepsThoseBeforeIt) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_example_tree(scratch / "runs");
  auto steps = read_text(scratch / "runs/one/001/steps.rank0.jsonl");
  steps.replace(steps.find('\n') + 1, 5, "@@@@@");
  write_text(scratch / "runs/one/001/steps.rank0.jsonl", steps);
  const auto report = ingest_tree(db, scratch / "runs");
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("one/001: stored as crashed"),
                                                 HasSubstr("steps.rank0.jsonl is damaged from line 2 on"))));
  EXPECT_EQ(report.added, 4);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM steps"), 1 + 6 + 12);
}

TEST(Ingest, RefusesAStepWithAnUnknownKeyOrANegativeTime) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  for (const auto& [from, to] :
       {std::pair{"\"data_ns\"", "\"date_ns\""}, std::pair{"\"data_ns\":0", "\"data_ns\":-1"}}) {
    write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
    auto text = read_text(scratch / "r/steps.rank0.jsonl");
    text.replace(text.find(from), std::string(from).size(), to);
    write_text(scratch / "r/steps.rank0.jsonl", text);
    EXPECT_THROW(ingest_run_directory(db, scratch / "r"), InputError) << to;
  }
}

TEST(Ingest, RefusesARunJsonOfAnotherRun) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  auto text = read_text(scratch / "r/run.json");
  text.replace(text.find("\"seq_len\":32"), 12, "\"seq_len\":31");
  write_text(scratch / "r/run.json", text);
  try {
    ingest_run_directory(db, scratch / "r");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("run.json:1 hashes to"));
  }
}

TEST(Ingest, RefusesAnAttemptThatContradictsTheStored) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  ExampleRun example{.attempt = example_attempt("c", 1)};
  write_run_directory(scratch / "r", example);
  ingest_run_directory(db, scratch / "r");
  example.attempt.wall_ns += 1;
  write_run_directory(scratch / "r", example);
  try {
    ingest_run_directory(db, scratch / "r");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("contradicts"));
  }
}

TEST(Ingest, AnOkAttemptWithoutStepsHasCrashed) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  fs::remove(scratch / "r/steps.rank0.jsonl");
  EXPECT_TRUE(ingest_run_directory(db, scratch / "r").spoiled);
  EXPECT_THAT(text(db, "SELECT reason FROM attempts"), HasSubstr("steps.rank0.jsonl holds 0 of 6 steps"));
}

// Replaces the number of one step in the records of rank 0 with another text.
void rewrite_number(const fs::path& directory, int step, const std::string& key, const std::string& value) {
  auto text = read_text(directory / "steps.rank0.jsonl");
  std::size_t line = 0;
  for (int i = 0; i < step; ++i) line = text.find('\n', line) + 1;
  const auto at = text.find("\"" + key + "\":", line);
  text.replace(at, text.find(',', at) - at, "\"" + key + "\":" + value);
  write_text(directory / "steps.rank0.jsonl", text);
}

std::vector<std::string> states(const Connection& db) {
  std::vector<std::string> out;
  Statement rows(db, "SELECT state || ': ' || reason FROM attempts ORDER BY attempt_key");
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

// attempt.json says ok, as it did before the state diverged existed, and the losses are null.
TEST(Ingest, AnOldRunWithANonFiniteLossHasDiverged) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  for (const int step : {3, 4, 5}) rewrite_number(scratch / "r", step, "loss", "null");
  for (const int step : {2, 3, 4, 5}) rewrite_number(scratch / "r", step, "grad_norm", "null");
  EXPECT_EQ(ingest_run_directory(db, scratch / "r").ingested, Ingested::added);
  EXPECT_EQ(integer(db, "SELECT count(*) FROM steps WHERE loss IS NULL"), 3);
  EXPECT_TRUE(std::isnan(metric(db, "final_loss")));
  EXPECT_GT(metric(db, "step_time_s"), 0) << "its times are evidence all the same";
  EXPECT_THAT(states(db),
              ElementsAre("diverged: the loss became NaN at step 3; the gradient norm became NaN at step 2"));
  EXPECT_EQ(ingest_run_directory(db, scratch / "r").ingested, Ingested::present) << "and the record is the same";
}

TEST(Ingest, KeepsAnInfiniteLossApartFromNaN) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  rewrite_number(scratch / "r", 4, "loss", "\"Infinity\"");
  rewrite_number(scratch / "r", 5, "loss", "\"Infinity\"");
  ingest_run_directory(db, scratch / "r");
  EXPECT_EQ(integer(db, "SELECT count(*) FROM steps WHERE loss = 9e999"), 2);
  EXPECT_THAT(states(db), ElementsAre("diverged: the loss became infinite at step 4"));
  EXPECT_TRUE(std::isnan(metric(db, "final_loss"))) << "infinity is not a result";
}

TEST(Ingest, NotesThatOnlyTheGradientsOfARunWereNotFinite) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  write_run_directory(scratch / "r", {.attempt = example_attempt("c", 1)});
  rewrite_number(scratch / "r", 1, "grad_norm", "null");
  ingest_run_directory(db, scratch / "r");
  EXPECT_THAT(states(db), ElementsAre("ok: the gradient norm became NaN at step 1"));
  EXPECT_EQ(metric(db, "final_loss"), 5.5);
}

// Processes, not threads: it is processes that share a database.
TEST(Ingest, ByTwoProcessesAtOnceGivesTheSameAsByOne) {
  ScratchFolder scratch;
  constexpr int kAttempts = 40;
  for (int i = 1; i <= kAttempts; ++i) {
    ExampleRun example{.attempt = example_attempt("c", i)};
    write_run_directory(scratch / "runs" / std::to_string(i), example);
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 1;
      try {
        auto db = open_database(scratch / "a.db");  // the file itself is created concurrently, too
        status = ingest_tree(db, scratch / "runs").problems.empty() ? 0 : 2;
      } catch (const std::exception& e) {
        ::write(2, e.what(), std::string(e.what()).size());
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  auto both = open_database(scratch / "a.db");
  auto one = open_database(scratch / "b.db");
  ingest_tree(one, scratch / "runs");
  EXPECT_EQ(integer(both, "SELECT count(*) FROM attempts"), kAttempts);
  EXPECT_EQ(dump(both), dump(one));
}

}  // namespace
}  // namespace perfbench::harness
