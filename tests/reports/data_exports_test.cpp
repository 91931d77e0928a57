#include "reports/content/data_exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/attempts/ingest.h"
#include "tests/harness/example_run.h"

namespace perfbench::reports {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class OpenMetrics : public testing::Test {
 protected:
  harness::ScratchFolder scratch_;
  harness::Connection db_ = harness::open_database(scratch_ / "a.db");
  int written_ = 0;

  // Steps of `step_s` on that day of January 2026.
  void add(int day, const std::string& cell, double step_s, harness::AttemptState state = harness::AttemptState::ok) {
    harness::ExampleRun run{.attempt = harness::example_attempt(cell, ++written_)};
    run.attempt.matrix = "m";
    run.attempt.sweep_id = "sweep" + std::to_string(day);
    run.attempt.sweep_kind = harness::SweepKind::night;
    run.attempt.started_utc = "2026-01-1" + std::to_string(day) + "T00:00:0" + std::to_string(written_) + "Z";
    run.attempt.state = state;
    run.attempt.reason = "as the test says";
    if (cell != "a") run.run.seq_len = 64;
    run.step_s.assign(6, step_s);
    harness::write_run_directory(scratch_ / std::to_string(written_), run);
  }
  std::string text() {
    harness::ingest_tree(db_, scratch_.path());
    return open_metrics(db_);
  }
};

TEST_F(OpenMetrics, HasMediansOfTheNewestSweepOnly) {
  add(1, "a", 8);
  add(1, "gone", 8);
  add(2, "a", 0.25);
  add(2, "a", 0.5);
  const auto found = text();
  EXPECT_THAT(found, AllOf(HasSubstr("# TYPE perfbench_step_time_seconds gauge\n"
                                     "# UNIT perfbench_step_time_seconds seconds\n"
                                     "# HELP perfbench_step_time_seconds median time of a training step; lower is "
                                     "better\nperfbench_step_time_seconds{matrix=\"m\",cell=\"a\",run=\""),
                           HasSubstr("\"} 0.375\n"), Not(HasSubstr("gone")), EndsWith("\n# EOF\n")));
  // 2026-01-12T00:00:04Z, that of the newest attempt.
  EXPECT_THAT(found, HasSubstr("sweep=\"sweep2\"} 1768176004\n"));
  EXPECT_THAT(found, HasSubstr("perfbench_tokens_per_second{"));
}

TEST_F(OpenMetrics, EscapesLabels) {
  add(1, "say \"hi\" \\ \n\x1b \xff", 0.25);
  EXPECT_THAT(text(), HasSubstr("cell=\"say \\\"hi\\\" \\\\ \\n\x1b \xEF\xBF\xBD\","));
}

TEST_F(OpenMetrics, CountsRunsByTheirEnd) {
  add(1, "a", 0.25);
  add(1, "a", 0.5, harness::AttemptState::crashed);
  const auto found = text();
  EXPECT_THAT(found, HasSubstr(",state=\"crashed\"} 1\n"));
  EXPECT_THAT(found, HasSubstr(",state=\"ok\"} 1\n"));
  EXPECT_THAT(found, HasSubstr("} 0.25\n"));
}

TEST_F(OpenMetrics, IsEmptyForAnEmptyDatabase) {
  EXPECT_EQ(open_metrics(db_), "# EOF\n");
}

}  // namespace
}  // namespace perfbench::reports
