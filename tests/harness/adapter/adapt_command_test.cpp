// perfbench adapt, and how a metric is named on a command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/adapter/metric_option.h"
#include "harness/execute/process.h"
#include "harness/readers/reader.h"
#include "workloads/spec/program_json.h"

namespace perfbench::adapter {
namespace {

namespace fs = std::filesystem;
using harness::ProcessEnd;
using ::testing::HasSubstr;

class AdaptCommand : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / ("adapt." + std::to_string(getpid()));
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  ProcessEnd adapt(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{PERFBENCH_BINARY_DIR "/bin/perfbench", "adapt", (dir_ / "log").string(), "--into",
                                     (dir_ / "run").string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return harness::run_process({.command = command});
  }
  void write_log(const std::string& text) const { std::ofstream(dir_ / "log") << text; }
  std::string file(const std::string& name) const {
    std::ifstream in(dir_ / "run" / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
};

TEST_F(AdaptCommand, MakesARunDirectoryOfALog) {
  write_log("iter 0: loss 4.0, time 90.00ms, mfu 1.0%\niter 1: loss 3.9, time 10.00ms, mfu 1.0%\n");
  const auto end = adapt({"--reader", "nanogpt", "--steps", "2"});
  EXPECT_TRUE(end.succeeded()) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("ok, 2 steps, 6 samples"));
  EXPECT_EQ(spec::parse_program_spec(file("program.json")).steps, 2);
  EXPECT_EQ(spec::parse_program_result(file("result.json")).samples, 6);
  EXPECT_THAT(file("samples.jsonl"), HasSubstr(R"({"metric":"step_time_s","resolution":1e-05,"step":1,"value":0.01})"));
  EXPECT_THAT(file("program.log"), HasSubstr("iter 1: loss 3.9"));
  EXPECT_THAT(adapt({"--reader", "nanogpt"}).error_output, HasSubstr("is not empty; name a new folder"));
}

TEST_F(AdaptCommand, SaysThatALogIsIncomplete) {
  write_log("iter 0: loss 4.0, time 90.00ms, mfu 1.0%\n");
  const auto end = adapt({"--reader", "nanogpt", "--steps", "9"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error_output, HasSubstr("1 of 9 steps"));
}

TEST_F(AdaptCommand, ReadsMetricsThatArePassedToIt) {
  write_log("took 5 ms\n");
  EXPECT_TRUE(adapt({"--metric", "step_time_s=took (?P<value>[0-9.]+) ms:ms:lower"}).succeeded());
  EXPECT_THAT(file("samples.jsonl"), HasSubstr("0.005"));
}

TEST_F(AdaptCommand, ExplainsInvalidOptions) {
  write_log("x\n");
  EXPECT_THAT(adapt({}).error_output, HasSubstr("give --reader NAME or --metric NAME=REGEX"));
  EXPECT_THAT(adapt({"--metric", "x"}).error_output, HasSubstr("a metric is NAME=REGEX["));
  EXPECT_THAT(adapt({"--reader", "nanogtp"}).error_output, HasSubstr("nanogpt"));
  fs::remove(dir_ / "log");
  const auto end = adapt({"--reader", "nanogpt"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("does not exist"));
}

TEST(MetricOption, HasTheUnitAndTheDirectionAtItsEnd) {
  const auto [name, metric] = parse_metric_option("reward=r: (?P<value>\\S+):1:higher");
  EXPECT_EQ(name, "reward");
  EXPECT_EQ(metric.regex, "r: (?P<value>\\S+)");
  EXPECT_EQ(metric.unit, "1");
  EXPECT_EQ(metric.better, spec::Better::higher);
  EXPECT_EQ(parse_metric_option("a_s=t:(x):ms").second.regex, "t:(x)");
  EXPECT_EQ(parse_metric_option("a=t:(x)").second.regex, "t:(x)");
  for (const auto* wrong : {"", "a", "=x", "a="})
    EXPECT_THROW(parse_metric_option(wrong), readers::ReaderError) << wrong;
}

}  // namespace
}  // namespace perfbench::adapter
