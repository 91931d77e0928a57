// Samples of GPUs, from a run directory into the database.
#include <gtest/gtest.h>

#include "harness/evidence/run_evidence.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/record_json.h"

namespace perfbench::harness {
namespace {

class RunOnAGpu : public testing::Test {
 protected:
  RunOnAGpu() {
    example_.attempt = example_attempt("model=tiny", 1);
    write_run_directory(folder_, example_);
    std::string lines;
    for (std::int64_t i = 0; i < 3; ++i) {
      lines +=
          spec::to_json_line(spec::GpuSample{.step = i, .at_ns = 100 + i, .sm_clock_mhz = 1980 - i, .power_w = 612.5}) +
          "\n";
    }
    write_text(folder_ / gpu_file(0), lines);
  }

  ScratchFolder scratch_;
  std::filesystem::path folder_ = scratch_ / "run";
  ExampleRun example_;
};

TEST_F(RunOnAGpu, HasARowForEverySample) {
  auto db = open_database(scratch_ / "a.db");
  EXPECT_EQ(ingest_run_directory(db, folder_).ingested, Ingested::added);
  Statement rows(db, "SELECT count(*), min(sm_clock_mhz), max(power_w), min(temperature_celsius) FROM gpu_samples");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.integer(0), 3);
  EXPECT_EQ(rows.integer(1), 1978);
  EXPECT_EQ(rows.real(2), 612.5);
  EXPECT_EQ(rows.integer(3), -1);
}

TEST_F(RunOnAGpu, LosesDamagedLinesAndNothingElse) {
  const auto whole = read_text(folder_ / gpu_file(0));
  write_text(folder_ / gpu_file(0), "{\"version\":9}\n" + whole.substr(0, whole.size() - 20));
  const auto read = read_gpu_samples(folder_, 1);
  EXPECT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.unreadable_lines, 2);
  auto db = open_database(scratch_ / "a.db");
  EXPECT_EQ(ingest_run_directory(db, folder_).ingested, Ingested::added);
  EXPECT_TRUE(read_gpu_samples(scratch_.path(), 4).samples.empty());
}

}  // namespace
}  // namespace perfbench::harness
