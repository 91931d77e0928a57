// The views for other programs (schema.sql) agree with the typed readers. SQL in a view cannot share code with them, so
// every place where it repeats a rule is compared with that rule here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/evidence/environment_rows.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

class Views : public testing::Test {
 protected:
  // Two machines of one class, one of another class, and an attempt whose engine never started.
  Views() {
    const std::int64_t memory[] = {8'321'499'136, 8'321'490'000, 17'000'000'000};
    for (int i = 1; i <= 4; ++i) {
      ExampleRun example{.attempt = example_attempt("b=2 a=1", i)};
      example.attempt.axes = {{"b", "2"}, {"a", "1"}};
      example.attempt.sweep_id = "s" + std::to_string(i);
      example.attempt.sweep_kind = SweepKind::hand;
      if (i == 4) {
        example.attempt.state = AttemptState::crashed;
        example.attempt.reason = "signal 9";
      } else {
        example.environment.memory_bytes = memory[i - 1];
        example.step = {.traced = i == 3 ? 1 : 0};
      }
      write_run_directory(scratch_ / std::to_string(i), example);
    }
    ingest_tree(db_, scratch_.path());
    attempts_ = load_attempts(db_, parse_selection("all"));
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  std::vector<StoredAttempt> attempts_;
};

std::string in_one_line(std::string text) {
  if (!text.empty()) text.pop_back();
  std::string out;
  for (const char letter : text) out += letter == '\n' ? std::string("; ") : std::string(1, letter);
  return out;
}

TEST_F(Views, RunsAreTheAttemptsThatAreRead) {
  ASSERT_EQ(attempts_.size(), 4U);
  const std::vector<std::string> metrics{
      "step_time_s",    "tokens_per_s", "tokens_per_s_per_device", "peak_memory_bytes", "resident_bytes",
      "startup_time_s", "final_loss",   "eval_accuracy",           "eval_perplexity",   "probe_spread_fraction"};
  Statement count(db_, "SELECT count(*) FROM v_runs");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(count.integer(0), 4) << "a row for each attempt";
  std::string columns;
  for (const auto& metric : metrics) columns += ", " + metric;
  for (const auto& attempt : attempts_) {
    Statement row(db_,
                  "SELECT run_id, attempt, started_utc, matrix, cell, axes, state, reason, sweep_id, kind, git_commit, "
                  "machine_class" +
                      columns + " FROM v_runs WHERE attempt_key = ?");
    ASSERT_TRUE(row.with(attempt.key).step());
    EXPECT_EQ(row.text(0), attempt.run_id);
    EXPECT_EQ(row.integer(1), attempt.attempt);
    EXPECT_EQ(row.text(2), attempt.started_utc);
    EXPECT_EQ(row.text(3), attempt.matrix);
    EXPECT_EQ(row.text(4), attempt.cell);
    EXPECT_EQ(row.text(5), "a=1 b=2");
    EXPECT_EQ(row.text(6), spec::enum_name(attempt.state));
    EXPECT_EQ(row.text(7), attempt.reason);
    EXPECT_EQ(row.text(8), attempt.sweep_id);
    EXPECT_EQ(row.text(9), "hand");
    EXPECT_EQ(row.is_null(11), attempt.environment == nullptr);
    if (attempt.environment) {
      EXPECT_EQ(row.text(10), attempt.environment->facts.at("git_commit"));
      EXPECT_EQ(row.text(11), in_one_line(machine_class_text(attempt.environment->facts)));
    }
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto found = attempt.metrics.find(metrics[i]);
      const auto column = 12 + static_cast<int>(i);
      EXPECT_EQ(row.is_null(column), found == attempt.metrics.end()) << metrics[i];
      if (found == attempt.metrics.end()) continue;
      EXPECT_EQ(row.real(column), found->second) << metrics[i];
    }
  }
}

TEST_F(Views, MachinesHaveTheClassesOfTheirFacts) {
  auto db = open_database(scratch_ / "b.db");
  std::int64_t key = 0;
  for (const auto* bytes : {"0", "-1", "1", "2", "3", "4", "5", "6", "7", "8321499136", "9000000000", "12884901888",
                            "12884901889", "1152921504606846976", "no number", ""}) {
    for (const auto* fact : {"memory_bytes", "gpu_memory_bytes", "governor", "hostname"}) {
      ++key;
      Statement(db, "INSERT INTO environments VALUES (?, ?)").run(key, std::to_string(key));
      db.execute("INSERT OR IGNORE INTO names (name) VALUES ('cpu_model'), ('" + std::string(fact) + "')");
      Statement value(db, "INSERT INTO environment_facts SELECT ?, name_key, ? FROM names WHERE name = ?");
      value.run(key, std::string_view("CPU"), std::string_view("cpu_model"));
      value.run(key, std::string_view(bytes), std::string_view(fact));
      Statement row(db, "SELECT machine_class FROM v_machines WHERE environment_key = ?");
      ASSERT_TRUE(row.with(key).step());
      EXPECT_EQ(row.text(0), in_one_line(machine_class_text({{"cpu_model", "CPU"}, {fact, bytes}}))) << fact << bytes;
    }
  }
}

TEST_F(Views, StepsAreTheStepsInSeconds) {
  Statement both(db_,
                 "SELECT v.wall_s, s.wall_ns, v.forward_s, s.forward_ns, v.traced, s.traced, v.loss, s.loss, v.run_id "
                 "FROM v_steps v JOIN steps s USING (attempt_key, rank, step)");
  int rows = 0;
  int traced = 0;
  while (both.step()) {
    ++rows;
    EXPECT_EQ(both.real(0), static_cast<double>(both.integer(1)) / 1e9);
    EXPECT_EQ(both.real(2), static_cast<double>(both.integer(3)) / 1e9);
    EXPECT_EQ(both.integer(4), both.integer(5));
    EXPECT_EQ(both.real(6), both.real(7));
    EXPECT_EQ(both.text(8), attempts_.front().run_id);
    traced += static_cast<int>(both.integer(4));
  }
  EXPECT_EQ(rows, 18);
  EXPECT_EQ(traced, 6);
}

TEST_F(Views, MetricsAreThoseThatAreRead) {
  for (const auto& attempt : attempts_) {
    Statement rows(db_, "SELECT metric, value, run_id, attempt FROM v_metrics WHERE attempt_key = ?");
    rows.with(attempt.key);
    std::map<std::string, double> found;
    while (rows.step()) {
      found[rows.text(0)] = rows.real(1);
      EXPECT_EQ(rows.text(2), attempt.run_id);
      EXPECT_EQ(rows.integer(3), attempt.attempt);
    }
    EXPECT_EQ(found, attempt.metrics);
  }
}

TEST_F(Views, MetricsHaveTheUnitsOfTheCatalog) {
  db_.execute("DELETE FROM metrics");
  for (const auto& metric : spec::kMetricCatalog) {
    db_.execute("INSERT OR IGNORE INTO names (name) VALUES ('" + std::string(metric.tag) + "')");
    Statement(db_, "INSERT INTO metrics SELECT 1, name_key, 0.5 FROM names WHERE name = ?").run(metric.tag);
    Statement unit(db_, "SELECT unit FROM v_metrics WHERE metric = ?");
    ASSERT_TRUE(unit.with(metric.tag).step());
    EXPECT_EQ(unit.text(0), metric.unit) << metric.tag;
  }
}

}  // namespace
}  // namespace perfbench::harness
