// Exports whose checksum is right and whose rows no perfbench writes: made by hand, or of a database that was changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/alerts/alert_ledger.h"
#include "harness/input_error.h"
#include "harness/store/baseline_ledger.h"
#include "harness/store/database.h"
#include "harness/store/ingest.h"
#include "harness/transfer/archive.h"
#include "harness/transfer/export.h"
#include "harness/transfer/import.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HostileExport : public testing::Test {
 protected:
  void SetUp() override {
    auto db = open_database(scratch_ / "a.db");
    write_run_directory(scratch_ / "runs/1", {.attempt = example_attempt("c", 1)});
    write_run_directory(scratch_ / "runs/2", {.attempt = example_attempt("c", 2)});
    ingest_tree(db, scratch_ / "runs");
    record_findings(db, {example_finding()}, "perfbench nightly", "2026-01-10T05:00:00Z");
    add_baseline(db, {.name = "goal",
                      .author = "ada",
                      .reason = "r",
                      .created_utc = "2026-01-10T05:00:00Z",
                      .source = "a file",
                      .values = {{"c", "step_time_s", 0.5}}});
  }
  // What import says to an export whose database was changed by `sql` and sealed again.
  std::string error_of(const std::string& sql) {
    const auto file = scratch_ / "b.perfbench";
    const auto payload = scratch_ / "payload.db";
    export_runs({.db = scratch_ / "a.db", .file = file, .perfbench_version = "0"});
    const auto header = read_archive(file, payload);
    Connection(payload, OpenMode::read_write, 1000).execute("PRAGMA ignore_check_constraints = 1; " + sql);
    write_archive(header, payload, file);
    try {
      import_runs(scratch_ / "into.db", file);
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }
  std::int64_t attempts_taken() {
    auto db = open_database(scratch_ / "into.db");
    Statement count(db, "SELECT count(*) FROM attempts");
    count.step();
    return count.integer(0);
  }

  ScratchFolder scratch_;
};

// Two parts that were made apart: one keeps the loss of a run that diverged as it was, the other took numbers as
// finite.
TEST_F(HostileExport, AnInfiniteLossIsOfARunThatDivergedAndNoHostileRow) {
  EXPECT_EQ(error_of("UPDATE steps SET loss = 9e999, grad_norm = -9e999 WHERE step = 3"), "");
  EXPECT_EQ(attempts_taken(), 2);
}

TEST_F(HostileExport, WithAnyRowThatCannotBeIsRefusedWholeAndNamesIt) {
  struct Case {
    const char* sql;
    const char* table;
    const char* what;
  };
  for (const auto& [sql, table, what] :
       {Case{"UPDATE attempts SET state = 'bogus' WHERE attempt_key = 2", "attempts with attempt_key 2", "bogus"},
        Case{"UPDATE attempts SET started_utc = 'yesterday' WHERE attempt_key = 1", "a row of attempts", "yesterday"},
        Case{"UPDATE attempts SET wall_ns = -1", "attempts with attempt_key 1", "wall_ns '-1'"},
        Case{"UPDATE attempts SET attempt = 0 WHERE attempt = 2", "attempts with attempt_key 2", "attempt '0'"},
        Case{"UPDATE attempts SET peak_flops_per_s = 9e999", "attempts with attempt_key 1", "peak_flops_per_s"},
        Case{"UPDATE sweeps SET started_utc = ''", "a row of sweeps", "started_utc ''"},
        Case{"UPDATE sweeps SET started_utc = '2026-02-30T00:00:00Z'", "a row of sweeps", "2026-02-30"},
        Case{"UPDATE runs SET run_json = '{'", "runs with run_id", "run_json is no JSON"},
        Case{"UPDATE runs SET run_json = '{\"colour\":1}'", "runs with run_id", "colour"},
        Case{"UPDATE runs SET run_json = replace(run_json, '\"seq_len\":32', '\"seq_len\":16')", "runs with run_id",
             "SHA-256 is another"},
        Case{"UPDATE runs SET run_json = replace(run_json, '\"precision\":\"fp32\"', '\"precision\":\"fp3\"')",
             "runs with run_id", "fp3"},
        Case{"UPDATE steps SET wall_ns = -5 WHERE step = 3 AND attempt_key = 2",
             "steps with attempt_key 2, rank 0, step 3", "wall_ns '-5'"},
        Case{"UPDATE metrics SET value = 9e999", "metrics with attempt_key 1", "value"},
        Case{"UPDATE attempt_summaries SET steps = -1", "attempt_summaries with attempt_key 1", "steps '-1'"},
        Case{"UPDATE attempt_traffic SET messages = -1", "attempt_traffic with attempt_key 1", "messages"},
        Case{"UPDATE attempt_traffic SET exposed_ns = -1", "attempt_traffic with attempt_key 1", "exposed_ns"},
        Case{"INSERT INTO attempt_attention VALUES (1, 'forward', 'magic', '')", "attempt_attention with attempt_key 1",
             "computed_by 'magic'"},
        Case{"UPDATE baseline_values SET value = 9e999", "baseline_values", "value"},
        Case{"UPDATE baselines SET created_utc = 'x'", "a row of baselines", "created_utc 'x'"},
        Case{"UPDATE alerts SET kind = 'bogus'", "alerts with alert_id", "kind is 'bogus'"},
        Case{"UPDATE alert_events SET to_state = 'bogus'", "alert_events with alert_id", "to_state is 'bogus'"},
        Case{"UPDATE baselines SET kind = 'bogus'", "baselines with baseline_key 1", "kind is 'bogus'"},
        Case{"DELETE FROM alert_events", "alerts with alert_id", "no state"},
        Case{"UPDATE alerts SET seen_utc = 'x'", "a row of alerts", "seen_utc"}}) {
    const auto error = error_of(sql);
    EXPECT_THAT(error, AllOf(HasSubstr("[import] "), HasSubstr("b.perfbench"), HasSubstr(table), HasSubstr(what),
                             HasSubstr("othing was taken in")))
        << sql;
    EXPECT_EQ(attempts_taken(), 0) << sql;
  }
  EXPECT_EQ(error_of("UPDATE attempts SET reason = 'of another kind'"), "") << "text may be any";
  EXPECT_EQ(attempts_taken(), 2);
}

}  // namespace
}  // namespace perfbench::harness
