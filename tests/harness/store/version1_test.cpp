// tests/harness/version1_run is a run directory in version 1 of the formats; it is never written again. When a test
// here fails, a field was added without omitted_at_default(), or a field was renamed or removed: existing run
// directories have become unreadable, or their runs got other ids.
#include <gtest/gtest.h>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_evidence.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "tests/harness/example_run.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

const std::filesystem::path kFolder = PERFBENCH_SOURCE_DIR "/tests/harness/version1_run";

std::string first_line(const std::string& file) {
  const auto text = read_text(kFolder / file);
  return text.substr(0, text.find('\n'));
}

TEST(Version1Run, IsIngestedUnderItsOriginalId) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  const auto outcome = ingest_run_directory(db, kFolder);
  EXPECT_EQ(outcome.ingested, Ingested::added);
  EXPECT_EQ(outcome.step_rows, 12);
  EXPECT_EQ(outcome.lost_step_lines, 0);
  Statement run(db, "SELECT run_id, run_json FROM runs");
  ASSERT_TRUE(run.step());
  EXPECT_EQ(run.text(0), "441caef364e16aad724220f82864c1fca8d1d32d54af229a216e49e43b14653b");  // by sha256sum
  EXPECT_EQ(run.text(1), first_line(kRunFile));
}

TEST(Version1Run, IsWrittenTheSameWayToday) {
  const auto run = first_line(kRunFile);
  EXPECT_EQ(spec::canonical_json(spec::parse_run_json(run)), run);
  const auto environment = first_line(kEnvironmentFile);
  EXPECT_EQ(spec::to_json_line(spec::parse_environment(environment)), environment);
  const auto summary = first_line(kResultFile);
  EXPECT_EQ(spec::to_json_line(spec::parse_run_summary(summary)), summary);
  const auto attempt = first_line(kAttemptFile);
  EXPECT_EQ(to_json_line(parse_attempt(attempt)), attempt);
  const auto step = first_line(steps_file(1));
  EXPECT_EQ(spec::to_json_line(spec::parse_step_record(step)), step);
}

}  // namespace
}  // namespace perfbench::harness
