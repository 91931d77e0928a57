// perfbench-micro --step: every operation of a step has a benchmark with the sizes of the step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/train/dry_walk.h"
#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::engine {
namespace {

// Operations that only move numbers between host and device, or take a few values.
const std::set<spec::TraceOp> kSmall{spec::TraceOp::upload, spec::TraceOp::read_f64, spec::TraceOp::clip_scale,
                                     spec::TraceOp::sum};

class MicroStep : public testing::Test {
 protected:
  ~MicroStep() override { std::filesystem::remove(file_); }

  spec::Json rows_of(const spec::DryOperations& step) const {
    std::ofstream(file_) << to_json_line(step) << "\n";
    std::string text;
    for (const auto& line : lines_of_program({PERFBENCH_MICRO_FILE, "--step=" + file_, "--benchmark_filter=^step/",
                                              "--benchmark_min_time=0.001", "--benchmark_format=json"})) {
      if (!text.empty() || line == "{") text += line + "\n";  // after the lines on standard error
    }
    return spec::parse_json(text).at("benchmarks");
  }
  // Tests run in parallel.
  const std::string file_ =
      (std::filesystem::path(testing::TempDir()) / ("micro_step_test." + std::to_string(getpid()))).string();
};

TEST_F(MicroStep, TimesEachOperationOfAStep) {
  auto bf16 = llama_tiny();
  bf16.precision = spec::Precision::bf16;
  auto dot_product = gpt_tiny();
  dot_product.attention = spec::AttentionKind::dot_product;
  dot_product.remat = "full";
  for (const auto& run : {llama_tiny(), gpt_tiny(), bf16, dot_product}) {
    const auto step = count_operations(run, 0, OperationRows::by_form);
    const auto rows = rows_of(step);
    ASSERT_EQ(rows.size(), step.operations.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& work = step.operations[i];
      const auto name = rows[i].at("name").get<std::string>();
      EXPECT_THAT(name, testing::StartsWith("step/" + std::string(spec::enum_name(work.operation)) + "/"));
      const bool failed = rows[i].value("error_occurred", false);
      EXPECT_EQ(failed, kSmall.contains(work.operation) || work.dtype == "f64") << name;
      if (failed) continue;
      EXPECT_GT(rows[i].at("real_time"), 0.0) << name;
      EXPECT_EQ(rows[i].at("calls"), static_cast<double>(work.calls)) << name;
    }
  }
}

TEST_F(MicroStep, AnotherFileIsRefusedOrItsRowsAreErrors) {
  EXPECT_THAT(lines_of_program({PERFBENCH_MICRO_FILE, "--step=/nonexistent"}),
              testing::ElementsAre(testing::HasSubstr("cannot read /nonexistent")));
  spec::DryOperations step;
  step.operations.push_back({.operation = spec::TraceOp::matmul, .dtype = "f32", .kind = "NT", .calls = 1});
  step.operations.push_back({.operation = spec::TraceOp::norm_forward, .kind = "x", .dims = {1, 1}, .calls = 1});
  for (const auto& row : rows_of(step)) EXPECT_TRUE(row.at("error_occurred")) << row;
}

}  // namespace
}  // namespace perfbench::engine
