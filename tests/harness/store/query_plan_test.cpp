// No query of a user or a night reads all attempts of a store, or all of their rows: the test checks SQLite's plan of
// every statement that is executed. Without ANALYZE the plan does not depend on the rows, so a small store is enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <set>

#include "harness/app/night/history.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/store/queries/run_list.h"
#include "harness/store/queries/running_sweeps.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Tables (and their aliases in queries) that stay small, with a row for each night, cell, machine, alert or user's
// entry; and the index of attempts that are not ok.
const std::set<std::string> kSmall = {"sweeps",     "nights",        "cells",  "c", "environments", "e",        "names",
                                      "n",          "runs",          "alerts", "s", "baselines",    "CONSTANT", "tags",
                                      "judgements", "running_sweeps"};
constexpr const char* kSmallIndex = "USING COVERING INDEX attempts_not_ok";

int collect(unsigned, void* statements, void* statement, void*) {
  static_cast<std::set<std::string>*>(statements)->insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
  return 0;
}

// "table: statement" for each table that is read completely although it grows with every attempt.
std::vector<std::string> full_scans(const Connection& db, const std::function<void()>& work) {
  std::set<std::string> statements;
  sqlite3_trace_v2(db.handle(), SQLITE_TRACE_STMT, collect, &statements);
  work();
  sqlite3_trace_v2(db.handle(), 0, nullptr, nullptr);
  EXPECT_THAT(statements, Not(IsEmpty()));
  std::vector<std::string> out;
  for (const auto& sql : statements) {
    Statement plan(db, "EXPLAIN QUERY PLAN " + sql);
    while (plan.step()) {
      const auto detail = plan.text(3);
      if (!detail.starts_with("SCAN ") || detail.ends_with(kSmallIndex)) continue;
      const auto table = detail.substr(5, detail.find(' ', 5) - 5);
      if (!kSmall.contains(table) && !table.starts_with("(")) out.push_back(table + ": " + sql);
    }
  }
  return out;
}

class QueryPlan : public testing::Test {
 protected:
  QueryPlan() {
    for (int i = 1; i <= 3; ++i) {
      ExampleRun example{.attempt = example_attempt("c", i)};
      example.attempt.sweep_kind = i < 3 ? SweepKind::night : SweepKind::hand;
      example.attempt.sweep_id = "s" + std::to_string(i);
      write_run_directory(scratch_ / std::to_string(i), example);
    }
    ingest_tree(db_, scratch_.path());
    add_baseline(db_, {.name = "v1",
                       .author = "ada",
                       .reason = "release",
                       .created_utc = "2026-01-01T00:00:00Z",
                       .source = "sweep x",
                       .attempt_keys = {1, 2}});
    record_findings(db_, {example_finding()}, "ada", "2026-01-11T00:00:00Z");
  }
  std::vector<std::string> scans_of_loading(const std::string& selection) {
    return full_scans(db_, [&] { EXPECT_FALSE(load_attempts(db_, parse_selection(selection)).empty()); });
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  std::string run_ = run_id(example_spec());
};

TEST_F(QueryPlan, TheFirstPageReadsTheNewestRows) {
  EXPECT_THAT(full_scans(db_,
                         [&] {
                           newest_night_answers(db_, "2026-02-01T00:00:00Z");
                           running_sweeps(db_, "2026-02-01T00:00:00Z");
                         }),
              IsEmpty());
}

TEST_F(QueryPlan, SelectingAttemptsUsesAnIndex) {
  for (const auto& selection : {std::string("latest"), std::string("s1"), "run:" + run_, "attempt:" + run_ + "/2"}) {
    EXPECT_THAT(scans_of_loading(selection), IsEmpty()) << selection;
  }
}

TEST_F(QueryPlan, BaselinesUseAnIndex) {
  EXPECT_THAT(full_scans(db_,
                         [&] {
                           const auto found = find_baseline(db_, "v1", "2026-02-01T00:00:00Z");
                           EXPECT_EQ(load_attempts(db_, found->attempt_keys).size(), 2U);
                         }),
              IsEmpty());
}

TEST_F(QueryPlan, SingleAnswersUseAnIndex) {
  EXPECT_THAT(full_scans(db_,
                         [&] {
                           EXPECT_EQ(newest_sweep(db_, "example"), "s3");
                           EXPECT_EQ(newest_sweeps(db_).size(), 1U);
                           EXPECT_EQ(count_attempts(db_, "s3", run_, AttemptState::ok), 1);
                           EXPECT_EQ(sweep_settings(db_, "s3").engines.size(), 1U);
                         }),
              IsEmpty());
}

TEST_F(QueryPlan, AlertsUseAnIndex) {
  EXPECT_THAT(full_scans(db_,
                         [&] {
                           const auto live = load_alerts(db_, AlertScope::live);
                           ASSERT_EQ(live.size(), 1U);
                           find_alert(db_, live[0].alert_id.substr(0, 6));
                         }),
              IsEmpty());
}

TEST_F(QueryPlan, ListsOfRunsUseAnIndex) {
  EXPECT_THAT(
      full_scans(db_,
                 [&] {
                   int runs = 0;
                   for_each_run(db_, [&](const ListedRun&) { return ++runs, Visit::go_on; });
                   for_each_sweep(db_, [](const ListedSweep&) { return Visit::go_on; });
                   EXPECT_EQ(runs, 3);
                   const auto of_cells = [&](const std::string& wanted) {
                     int found = 0;
                     const auto count = [&](const ListedRun& run) {
                       EXPECT_EQ(run.cell, wanted);
                       return ++found, Visit::go_on;
                     };
                     for_each_run(db_, count, {.cell = [&](const ListedRun& run) { return run.cell == wanted; }});
                     return found;
                   };
                   EXPECT_EQ(of_cells("c"), 3);
                   EXPECT_EQ(of_cells("of nobody"), 0);
                   const auto count = [&](const RunFilter& wanted) {
                     int found = 0;
                     for_each_run(
                         db_, [&](const ListedRun&) { return ++found, Visit::go_on; }, wanted);
                     return found;
                   };
                   const auto none = [](const ListedRun&) { return false; };
                   EXPECT_EQ(count({.sweep = none}), 0);
                   EXPECT_EQ(count({.environment = none}), 0);
                   EXPECT_EQ(count({.all_ok = none}), 0);
                   EXPECT_EQ(count({.untagged = none}), 0);
                   EXPECT_EQ(count({.environment = [](const ListedRun& run) { return !run.machine.empty(); }}), 3);
                   const auto of_run = baseline_of_run(db_, run_, "2026-02-01T00:00:00Z");
                   ASSERT_TRUE(of_run);
                   EXPECT_THAT(of_run->attempt_keys, SizeIs(2));
                   EXPECT_TRUE(tags_of_run(db_, run_).empty());
                   EXPECT_TRUE(notes_of_run(db_, run_).empty());
                 }),
      IsEmpty());
}

// There are few machines and sizes of memory.
TEST_F(QueryPlan, TheViewOfOneRunUsesAnIndex) {
  for (const auto* view : {"v_runs", "v_steps", "v_metrics"}) {
    Statement plan(db_, std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + view + " WHERE run_id = '" + run_ + "'");
    while (plan.step()) {
      const auto detail = plan.text(3);
      for (const auto* table : {"a", "attempts", "t", "steps", "m", "metrics"}) {
        EXPECT_FALSE(detail == std::string("SCAN ") + table || detail.starts_with(std::string("SCAN ") + table + " "))
            << view << ": " << detail;
      }
    }
  }
}

TEST_F(QueryPlan, TheNightlyScreenUsesAnIndex) {
  EXPECT_THAT(full_scans(db_, [&] { EXPECT_EQ(look_at_history(db_, {}).series.size(), 1U); }), IsEmpty());
  EXPECT_THAT(full_scans(db_, [&] { load_probes(db_, example_finding().series); }), IsEmpty());
}

TEST_F(QueryPlan, IngestingARunUsesAnIndex) {
  ExampleRun example{.attempt = example_attempt("c", 4)};
  write_run_directory(scratch_ / "4", example);
  EXPECT_THAT(full_scans(db_, [&] { EXPECT_EQ(ingest_run_directory(db_, scratch_ / "4").ingested, Ingested::added); }),
              IsEmpty());
}

// Shows that the test itself can fail.
TEST_F(QueryPlan, WithoutTheIndexTheTestFails) {
  db_.execute("DROP INDEX attempts_by_sweep");
  EXPECT_THAT(scans_of_loading("latest"), Not(IsEmpty()));
  EXPECT_THAT(full_scans(db_, [&] { Statement(db_, "SELECT sum(wall_ns) FROM steps").step(); }), Not(IsEmpty()));
}

}  // namespace
}  // namespace perfbench::harness
