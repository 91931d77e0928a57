#include "harness/store/attempts/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/evidence/run_directory.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class Prune : public testing::Test {
 protected:
  // Attempt N of the example's run, in sweep sN, which began on the N-th of January.
  fs::path add(std::int64_t attempt, SweepKind kind = SweepKind::hand, const std::string& cell = "c") {
    ExampleRun example{.attempt = example_attempt(cell, attempt)};
    example.attempt.sweep_id = "s" + std::to_string(attempt);
    example.attempt.sweep_kind = kind;
    if (kind == SweepKind::hand) example.attempt.words = SweepWords{.only = {"a=1"}, .set = {"steps=9"}};
    example.attempt.started_utc = day(attempt);
    const auto folder = run_folder(scratch_ / "runs", run_) /
                        (attempt < 10 ? "00" + std::to_string(attempt) : "0" + std::to_string(attempt));
    write_run_directory(folder, example);
    EXPECT_EQ(ingest_run_directory(db_, folder).ingested, Ingested::added);
    return folder;
  }
  static std::string day(std::int64_t number) {
    return std::string("2026-01-") + (number < 10 ? "0" : "") + std::to_string(number) + "T00:00:00Z";
  }
  std::int64_t number(const std::string& sql) {
    Statement row(db_, sql);
    return row.step() ? row.integer(0) : -1;
  }
  std::vector<std::int64_t> left() {
    std::vector<std::int64_t> out;
    for (const auto& attempt : load_attempts(db_, parse_selection("all"))) out.push_back(attempt.attempt);
    return out;
  }
  std::int64_t key_of(std::int64_t attempt) {
    return number("SELECT attempt_key FROM attempts WHERE attempt = " + std::to_string(attempt));
  }
  PruneResult pruned(PruneRule rule, PruneDo act = PruneDo::remove, PruneEvidence evidence = PruneEvidence::keep) {
    return prune(db_, {.rule = rule, .act = act, .evidence = evidence, .runs = scratch_ / "runs", .now_utc = day(20)});
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  std::string run_ = run_id(example_spec());
};

TEST_F(Prune, KeepsTheNewestSweepsOfEachMatrix) {
  for (int i = 1; i <= 5; ++i) add(i);
  const auto result = pruned({.keep_sweeps = 2});
  EXPECT_EQ(result.attempts, 3);
  EXPECT_EQ(result.step_rows, 18);
  EXPECT_THAT(result.kept, ElementsAre(Pair(KeptFor::newest, 2)));
  EXPECT_THAT(left(), ElementsAre(4, 5));
  EXPECT_EQ(number("SELECT count(*) FROM sweeps"), 2) << "an empty sweep would be the newest of its matrix one day";
  EXPECT_EQ(number("SELECT count(*) FROM sweep_requests"), 2) << "and be resumed";
  EXPECT_EQ(number("SELECT count(*) FROM sweep_request_words"), 4);
  EXPECT_EQ(number("SELECT count(*) FROM steps"), 12);
  EXPECT_EQ(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

TEST_F(Prune, KeepsSweepsThatEitherRuleKeeps) {
  for (int i = 1; i <= 5; ++i) add(i);
  const auto result = pruned({.keep_sweeps = 1, .keep_days = 17});
  EXPECT_THAT(left(), ElementsAre(3, 4, 5));
  EXPECT_THAT(result.kept, ElementsAre(Pair(KeptFor::recent, 3)));
}

TEST_F(Prune, CountsReproductionsByThemselves) {
  add(1);
  add(2, SweepKind::reproduction);
  add(3, SweepKind::reproduction);
  pruned({.keep_sweeps = 1});
  EXPECT_THAT(left(), ElementsAre(1, 3));
}

TEST_F(Prune, KeepsAttemptsOfBaselinesTagsNotesAndAlerts) {
  for (int i = 1; i <= 6; ++i) add(i);
  add_baseline(db_, {.name = "v1",
                     .author = "ada",
                     .reason = "release",
                     .created_utc = day(1),
                     .expires_utc = day(2),
                     .source = "x",
                     .attempt_keys = {key_of(1)}});
  record_tag(db_, {.name = "t", .run_id = run_, .attempt_key = key_of(2), .author = "ada", .created_utc = day(9)});
  record_note(db_, {.run_id = run_, .attempt_key = key_of(3), .author = "ada", .text = "fan", .created_utc = day(9)});
  auto finding = example_finding();
  finding.last_good.sweep_id = "s4";
  finding.first_bad.sweep_id = "s5";
  record_findings(db_, {finding}, "ada", day(9));
  const auto result = pruned({.keep_sweeps = 0});
  EXPECT_THAT(left(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(result.kept, ElementsAre(Pair(KeptFor::baseline, 1), Pair(KeptFor::alert, 2), Pair(KeptFor::tag, 1),
                                       Pair(KeptFor::note, 1)));
}

TEST_F(Prune, KeepsEveryAttemptOfARunWithATag) {
  for (int i = 1; i <= 3; ++i) add(i);
  record_tag(db_, {.name = "t", .run_id = run_, .attempt_key = {}, .author = "ada", .created_utc = day(9)});
  EXPECT_EQ(pruned({.keep_sweeps = 0}).attempts, 0);
}

TEST_F(Prune, KeepsComparisonsThatConfirmedAnAlert) {
  for (int i = 1; i <= 4; ++i) add(i, SweepKind::comparison);
  db_.execute("INSERT INTO ab_comparisons VALUES (1, 's1', 'compare', 'example', '', 1, '2026-01-01T00:00:00Z', NULL)");
  db_.execute("INSERT INTO ab_pairs VALUES (1, 'c', 0, 1, 'A', 'none', '', " + std::to_string(key_of(2)) + ", " +
              std::to_string(key_of(3)) + ", NULL, NULL, 0, 0, 0, 0)");
  const auto result = pruned({.keep_sweeps = 0});
  EXPECT_THAT(left(), ElementsAre(1, 2, 3));
  EXPECT_THAT(result.kept, ElementsAre(Pair(KeptFor::comparison, 3)));
}

TEST_F(Prune, KeepsTheNightsThatTheScreenLooksBackOn) {
  for (int i = 1; i <= 4; ++i) add(i, SweepKind::night);
  add(5, SweepKind::control);
  add(6, SweepKind::simulated);
  add(7);
  add(25, SweepKind::night);  // with a clock that was wrong
  const auto result = pruned({.keep_sweeps = 0});
  EXPECT_THAT(left(), ElementsAre(1, 2, 3, 4, 5, 6, 25));
  EXPECT_THAT(result.kept, ElementsAre(Pair(KeptFor::history, 7)));
}

TEST_F(Prune, IgnoresAttemptsOutsideASweepUnlessDaysAreGiven) {
  add(1);
  add(2);
  db_.execute("UPDATE sweeps SET sweep_id = '' WHERE sweep_id = 's1'");
  EXPECT_THAT(pruned({.keep_sweeps = 0}).kept, ElementsAre(Pair(KeptFor::no_sweep, 1)));
  EXPECT_THAT(left(), ElementsAre(1));
  pruned({.keep_days = 1});
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM environments"), 0);
}

TEST_F(Prune, ADryRunOnlyReports) {
  std::vector<fs::path> folders;
  for (int i = 1; i <= 9; ++i) folders.push_back(add(i));
  const auto said = pruned({.keep_sweeps = 1}, PruneDo::say, PruneEvidence::remove);
  EXPECT_EQ(left().size(), 9U);
  for (const auto& folder : folders) EXPECT_TRUE(fs::exists(folder / kAttemptFile));
  const auto done = pruned({.keep_sweeps = 1}, PruneDo::remove, PruneEvidence::remove);
  EXPECT_EQ(said.attempts, 8);
  EXPECT_EQ(said.attempts, done.attempts);
  EXPECT_EQ(said.step_rows, done.step_rows);
  EXPECT_EQ(said.database_bytes, done.database_bytes);
  EXPECT_EQ(said.evidence_bytes, done.evidence_bytes);
  EXPECT_EQ(said.kept, done.kept);
}

TEST_F(Prune, MakesTheFileSmaller) {
  for (int i = 1; i <= 31; ++i) add(i);
  db_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto before = fs::file_size(scratch_ / "a.db");
  const auto result = pruned({.keep_sweeps = 1});
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_GT(result.database_bytes, 0);
  EXPECT_LE(fs::file_size(scratch_ / "a.db"), before - static_cast<std::uintmax_t>(result.database_bytes));
}

TEST_F(Prune, RemovesOnlyTheRunDirectoriesOfThoseAttempts) {
  const auto gone = add(1);
  const auto linked = add(2);
  const auto others = add(3);
  const auto kept = add(4);
  fs::rename(linked, scratch_ / "elsewhere");
  fs::create_directory_symlink(scratch_ / "elsewhere", linked);
  ExampleRun other{.attempt = example_attempt("c", 3)};
  other.attempt.sweep_id = "another";
  write_run_directory(others, other);
  fs::create_directory(scratch_ / "outside");
  std::ofstream(scratch_ / "outside/file") << "precious";
  fs::create_directory_symlink(scratch_ / "outside", gone / "link");
  const auto result = pruned({.keep_sweeps = 1}, PruneDo::remove, PruneEvidence::remove);
  EXPECT_EQ(result.attempts, 3);
  EXPECT_EQ(result.evidence_folders, 1);
  EXPECT_GT(result.evidence_bytes, 0);
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(scratch_ / "elsewhere" / kAttemptFile)) << "a link was followed";
  EXPECT_TRUE(fs::exists(scratch_ / "outside/file")) << "a link was followed";
  EXPECT_TRUE(fs::exists(others / kAttemptFile)) << "that is another attempt";
  EXPECT_TRUE(fs::exists(kept / kAttemptFile));
}

TEST_F(Prune, KeepsRunDirectoriesByDefault) {
  const auto folder = add(1);
  pruned({.keep_sweeps = 0});
  EXPECT_TRUE(fs::exists(folder / kAttemptFile));
  EXPECT_EQ(ingest_run_directory(db_, folder).ingested, Ingested::added) << "what it holds can be brought back";
}

TEST_F(Prune, NeedsARule) {
  add(1);
  EXPECT_THROW(pruned({}), InputError);
  EXPECT_THAT(left(), ElementsAre(1));
}

}  // namespace
}  // namespace perfbench::harness
