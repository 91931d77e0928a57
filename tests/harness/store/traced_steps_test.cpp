// Traces on the way into the database: rows of traced steps, and runs that are stored whatever their trace is like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/attempts/ingest.h"
#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "harness/trace/trace_summary.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TracedRun : public testing::Test {
 protected:
  TracedRun() {
    example_.run.mesh.ici.fsdp = 2;
    example_.run.trace_steps = 2;
    write_run_directory(folder_, example_);
    write_traces(folder_, example_traces());
  }

  std::int64_t count(const std::string& table) {
    Statement query(db_, "SELECT count(*) FROM " + table);
    query.step();
    return query.integer(0);
  }

  ScratchFolder scratch_;
  std::filesystem::path folder_ = scratch_ / "run";
  ExampleRun example_{.attempt = example_attempt("c", 1)};
  Connection db_ = open_database(scratch_ / "a.db");
};

TEST_F(TracedRun, GivesARowPerRankAndStepAsTheSummarySays) {
  const auto outcome = ingest_run_directory(db_, folder_);
  EXPECT_EQ(outcome.ingested, Ingested::added);
  EXPECT_THAT(outcome.trace_problem, IsEmpty());
  EXPECT_EQ(outcome.step_rows, 12);  // traced steps are not included
  const auto expected = summarise(example_traces());
  ASSERT_THAT(expected, SizeIs(4));
  Statement query(db_, "SELECT * FROM traced_steps ORDER BY rank, step");
  for (const auto& summary : expected) {
    ASSERT_TRUE(query.step());
    TraceSummary stored;
    read_columns(query, 1, stored);
    EXPECT_EQ(stored.rank, summary.rank);
    EXPECT_EQ(stored.step, summary.step);
    EXPECT_EQ(stored.gemm_ns, 200);
    EXPECT_EQ(stored.exposed_comm_ns, 50);
    EXPECT_EQ(stored.idle_host_ns, summary.idle_host_ns);
    EXPECT_EQ(stored.collective_ns, summary.collective_ns);
  }
  EXPECT_FALSE(query.step());
}

TEST_F(TracedRun, KeepsItsResultWhenTheTraceIsDamagedOrMissing) {
  const auto file = folder_ / trace_file(1);
  const auto whole = read_text(file);
  write_text(file, whole.substr(0, whole.size() / 2));
  const auto report = ingest_tree(db_, folder_);
  EXPECT_EQ(report.added, 1);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.trace_problems, ElementsAre(HasSubstr("trace.rank1.jsonl:")));
  EXPECT_EQ(count("steps"), 12);
  EXPECT_EQ(count("traced_steps"), 0);
  std::filesystem::remove(file);
  auto second = open_database(scratch_ / "b.db");
  EXPECT_THAT(ingest_run_directory(second, folder_).trace_problem, HasSubstr("not trace.rank1.jsonl"));
  std::filesystem::remove(folder_ / trace_file(0));
  auto third = open_database(scratch_ / "c.db");
  EXPECT_THAT(ingest_run_directory(third, folder_).trace_problem, HasSubstr("although the run's trace_steps is 2"));
  example_.run.trace_steps = 0;
  example_.run.profile = {.first_step = 3, .steps = 1};
  std::filesystem::remove_all(folder_);
  write_run_directory(folder_, example_);
  auto fourth = open_database(scratch_ / "d.db");
  EXPECT_THAT(ingest_run_directory(fourth, folder_).trace_problem, HasSubstr("although the run's profile.steps is 1"));
}

TEST_F(TracedRun, ACrashedRunIsNotBlamedForItsTrace) {
  example_.attempt.state = AttemptState::crashed;
  std::filesystem::remove_all(folder_);
  write_run_directory(folder_, example_);
  write_text(folder_ / trace_file(0), "cut");
  const auto outcome = ingest_run_directory(db_, folder_);
  EXPECT_EQ(outcome.ingested, Ingested::added);
  EXPECT_THAT(outcome.trace_problem, IsEmpty());
}

TEST_F(TracedRun, HasAColumnForEveryFieldOfTheSummary) {
  Statement info(db_, "SELECT name FROM pragma_table_info('traced_steps') WHERE name <> 'attempt_key' ORDER BY cid");
  std::vector<std::string> columns;
  while (info.step()) columns.push_back(info.text(0));
  EXPECT_EQ(columns, column_names(columns_of<TraceSummary>()));
}

}  // namespace
}  // namespace perfbench::harness
