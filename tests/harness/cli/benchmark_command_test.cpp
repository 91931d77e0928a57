// Results of benchmark programs as a user imports them: the built executable, its output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/harness/cli/run_perfbench.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

class BenchmarkCommand : public testing::Test {
 protected:
  ScratchFolder scratch_;

  ProcessEnd run(const std::vector<std::string>& arguments) const {
    return run_perfbench(arguments, scratch_.path(), {{"PERFBENCH_DB", "b.db"}});
  }
  // A night of benchmarks that take `ms` on that day of January.
  void write(int day, double a_ms, double b_ms) const {
    const auto row = [](const std::string& name, double ms) {
      std::string out;
      for (const double share : {1.0, 1.001, 0.999}) {
        out += (out.empty() ? "" : ",") + (R"({"name": ")" + name) +
               R"(", "run_type": "iteration", "time_unit": "ms", "cpu_time": 1, "real_time": )" +
               std::to_string(share * ms) + "}";
      }
      return out;
    };
    write_text(scratch_ / (std::to_string(day) + ".json"),
               R"({"context": {"date": "2026-01-)" + std::to_string(day) +
                   R"(T02:00:00+00:00", "executable": "bench", "num_cpus": 8}, "benchmarks": [)" + row("a", a_ms) +
                   "," + row("b", b_ms) + "]}");
  }
};

TEST_F(BenchmarkCommand, ImportsListsAndReports) {
  write(10, 4, 5);
  const auto first = run({"import", "--format", "google-benchmark", "10.json"});
  EXPECT_EQ(first.exit_code, 0) << first.error_output;
  EXPECT_THAT(first.output, HasSubstr("10.json: 2 benchmarks of bench added (12 samples) as import-"));
  const auto again = run({"import", "--format", "google-benchmark", "10.json"});
  EXPECT_EQ(again.exit_code, 0) << again.error_output;
  EXPECT_THAT(again.output, HasSubstr("10.json: already imported as import-"));
  EXPECT_THAT(again.output, HasSubstr("nothing was added"));
  const auto listed = run({"list", "--format", "csv"});
  EXPECT_THAT(listed.output, HasSubstr("benchmark=a"));
  const auto report = run({"report", "--format", "csv"});
  EXPECT_EQ(report.exit_code, 0) << report.error_output;
  EXPECT_THAT(report.output, HasSubstr("benchmark=b"));
  const auto shown = run({"show", "latest"});
  EXPECT_THAT(shown.error_output, Not(HasSubstr("error")));
}

// The nights of two benchmarks, of which one becomes slower on the last one.
TEST_F(BenchmarkCommand, HistoryScreensAndCompareJudges) {
  std::vector<std::string> import{"import", "--format", "google-benchmark"};
  for (int day = 10; day < 28; ++day) {
    const double wobble = 1 + 0.002 * (day * 7 % 5 - 2);
    write(day, 4 * wobble * (day > 26 ? 1.2 : 1), 5 * wobble);
    import.push_back(std::to_string(day) + ".json");
  }
  EXPECT_EQ(run(import).exit_code, 0);
  const auto history = run({"history", "--format", "csv"});
  EXPECT_EQ(history.exit_code, 2) << history.error_output;
  EXPECT_THAT(history.output, HasSubstr("benchmark=a"));
  const auto sweeps = run({"list", "sweeps", "--format", "csv"});
  const auto second_last = sweeps.output.find("2026-01-25");
  ASSERT_NE(second_last, std::string::npos) << sweeps.output;
  const auto begin = sweeps.output.rfind('\n', second_last) + 1;
  const auto id = sweeps.output.substr(sweeps.output.find("import-", begin), 23);
  const auto compared = run({"compare", "--baseline", id, "--format", "csv"});
  EXPECT_EQ(compared.exit_code, 1) << compared.error_output << compared.output;
  EXPECT_THAT(compared.output, HasSubstr("REGRESSED"));
  EXPECT_THAT(compared.output, HasSubstr("SAME"));
}

TEST_F(BenchmarkCommand, SaysWhatIsWrong) {
  write_text(scratch_ / "debug.json", R"({"context": {"library_build_type": "debug"}, "benchmarks": []})");
  write(10, 4, 5);
  const auto mixed = run({"import", "--format", "google-benchmark", "debug.json", "10.json", "none.json"});
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_THAT(mixed.error_output, HasSubstr("[import] debug.json:1: at /context/library_build_type: the Google"));
  EXPECT_THAT(mixed.error_output, HasSubstr("[import] none.json does not exist"));
  EXPECT_THAT(mixed.output, HasSubstr("10.json: 2 benchmarks"));
  const auto no_format = run({"import", "--matrix", "x", "10.json"});
  EXPECT_EQ(no_format.exit_code, 3);
  EXPECT_THAT(no_format.error_output, HasSubstr("add --format"));
  const auto unknown = run({"import", "--format", "googlebenchmark", "10.json"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output, HasSubstr("google-benchmark"));
}

}  // namespace
}  // namespace perfbench::harness
