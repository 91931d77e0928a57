// The kernels that computed attention on a GPU, from a run directory into the database and out of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/attempts/ingest.h"
#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

using spec::AttentionDirection;
using spec::AttentionKernel;
using spec::ComputedBy;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<AttentionKernel> kOwnBackward{
    {.direction = AttentionDirection::forward, .computed_by = ComputedBy::cudnn},
    {.direction = AttentionDirection::backward, .computed_by = ComputedBy::own, .reason = "too long"}};

class RunWithAttention : public testing::Test {
 protected:
  RunWithAttention() {
    example_.attempt = example_attempt("c", 1);
    example_.run.device = spec::Device::cuda;
    example_.attention_kernels = kOwnBackward;
  }
  StoredAttempt stored() const {
    const auto db = open_database(scratch_ / "a.db", {.mode = OpenMode::read_only});
    const auto attempts = load_attempts(db, parse_selection("all"));
    EXPECT_THAT(attempts, SizeIs(1));
    return attempts.at(0);
  }
  void take_in() {
    write_run_directory(scratch_ / "run", example_);
    auto db = open_database(scratch_ / "a.db");
    EXPECT_EQ(ingest_run_directory(db, scratch_ / "run").ingested, Ingested::added);
  }

  ScratchFolder scratch_;
  ExampleRun example_;
};

TEST_F(RunWithAttention, KeepsTheKernelOfEachDirectionAndWhyItIsNotCudnn) {
  take_in();
  const auto kernels = stored().attention_kernels;
  ASSERT_THAT(kernels, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(kernels[i].direction, kOwnBackward[i].direction);
    EXPECT_EQ(kernels[i].computed_by, kOwnBackward[i].computed_by);
    EXPECT_EQ(kernels[i].reason, kOwnBackward[i].reason);
  }
}

TEST_F(RunWithAttention, HasNoneOnACpuNorInItsResult) {
  example_.run.device = spec::Device::cpu;
  example_.attention_kernels.clear();
  take_in();
  EXPECT_THAT(stored().attention_kernels, IsEmpty());
  EXPECT_EQ(read_text(scratch_ / "run" / kResultFile).find("attention_kernels"), std::string::npos)
      << "as an older perfbench wrote it";
}

TEST_F(RunWithAttention, HasAColumnForEveryField) {
  auto db = open_database(scratch_ / "a.db");
  Statement info(db,
                 "SELECT name FROM pragma_table_info('attempt_attention') WHERE name <> 'attempt_key' ORDER BY cid");
  std::vector<std::string> columns;
  while (info.step()) columns.push_back(info.text(0));
  EXPECT_EQ(columns, column_names(columns_of<AttentionKernel>()));
}

TEST(AttentionKernelRecord, IsTheSameAfterAFileAndRefusesWordsItDoesNotKnow) {
  const spec::RunSummary summary{.status = "ok", .attention_kernels = kOwnBackward};
  const auto line = spec::to_json_line(summary);
  EXPECT_THAT(line, testing::HasSubstr(R"({"computed_by":"own","direction":"backward","reason":"too long"})"));
  EXPECT_EQ(spec::to_json_line(spec::parse_run_summary(line)), line);
  auto other = line;
  other.replace(other.find("cudnn"), 5, "magic");
  EXPECT_THROW(spec::parse_run_summary(other), spec::SpecError);
}

}  // namespace
}  // namespace perfbench::harness
