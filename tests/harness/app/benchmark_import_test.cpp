#include "harness/app/runs/benchmark_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "harness/app/night/history.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

class ImportedFiles : public testing::Test {
 protected:
  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((scratch_ / name).parent_path());
    std::ofstream(scratch_ / name, std::ios::binary) << text;
    return scratch_ / name;
  }
  ImportedBenchmarks import(const std::string& format, const std::filesystem::path& file,
                            const std::string& date = "") {
    return import_benchmarks(db_,
                             {.format = readers::find_benchmark_format(format), .files = {file}, .started_utc = date});
  }
  std::string error_of(const std::string& format, const std::filesystem::path& file) {
    try {
      import(format, file);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  }
  ImportedBenchmarks import_together(const std::vector<std::filesystem::path>& files, const std::string& matrix = "") {
    return import_benchmarks(
        db_, {.format = readers::find_benchmark_format("google-benchmark"), .files = files, .matrix = matrix});
  }
  std::vector<StoredAttempt> stored() const { return load_attempts(db_, {.kind = SelectionKind::all}); }

  // Google Benchmark, with rows such as row("a", 5).
  static std::string google(const std::string& rows, const std::string& day = "27") {
    return R"({"context": {"date": "2026-01-)" + day +
           R"(T03:00:00+00:00", "host_name": "node1", "executable": "bench", "num_cpus": 8,
               "library_build_type": "release", "git_commit": "0123456789abcdef"}, "benchmarks": [)" +
           rows + "]}";
  }
  static std::string row(const std::string& name, double ms) {
    return R"({"name": ")" + name + R"(", "run_type": "iteration", "time_unit": "ms", "cpu_time": 1, "real_time": )" +
           std::to_string(ms) + "}";
  }
};

TEST_F(ImportedFiles, AreCellsWithMetrics) {
  const auto file = write("b.json", google(row("a", 9) + "," + row("a", 4) + "," + row("a", 5) + "," +
                                           R"({"name": "b", "run_type": "iteration", "error_occurred": true,
                                               "error_message": "no memory"})"));
  const auto imported = import("google-benchmark", file);
  EXPECT_FALSE(imported.present);
  EXPECT_EQ(imported.matrix, "bench");
  EXPECT_EQ(imported.samples, 6);
  EXPECT_EQ(imported.states.at(AttemptState::ok), 1);
  const auto attempts = stored();
  ASSERT_THAT(attempts, SizeIs(2));
  const auto& a = attempts[0].cell == "benchmark=a" ? attempts[0] : attempts[1];
  const auto& b = attempts[0].cell == "benchmark=a" ? attempts[1] : attempts[0];
  // A benchmark warms up by itself: the first sample counts, too.
  EXPECT_DOUBLE_EQ(a.metrics.at("step_time_s"), 5e-3);
  EXPECT_DOUBLE_EQ(a.metrics.at("step_time_mean_s"), 6e-3);
  EXPECT_EQ(a.metrics.at("steady_steps"), 3);
  EXPECT_EQ(a.metrics.at("warmup_steps"), 0);
  EXPECT_EQ(a.metrics.at("cpu_time_s"), 1e-3);
  EXPECT_FALSE(a.metrics.contains("tokens_per_s"));
  EXPECT_FALSE(a.metrics.contains("wall_time_s"));
  EXPECT_EQ(a.started_utc, "2026-01-27T03:00:00Z");
  EXPECT_EQ(a.environment->facts.at("cores_allowed"), "8");
  EXPECT_EQ(a.environment->git_commit(), "0123456789abcdef");
  EXPECT_EQ(b.state, AttemptState::crashed);
  EXPECT_EQ(b.reason, "no memory");
}

// Known by its contents, wherever the file lies.
TEST_F(ImportedFiles, AreAddedOnce) {
  const auto first = import("google-benchmark", write("b.json", google(row("a", 9))));
  const auto again = import("google-benchmark", write("c.json", google(row("a", 9))));
  EXPECT_TRUE(again.present);
  EXPECT_EQ(again.sweep_id, first.sweep_id);
  EXPECT_THAT(stored(), SizeIs(1));
}

// The last row is damaged, after others that are whole.
TEST_F(ImportedFiles, AddNothingIfARowIsDamaged) {
  const auto file = write("b.json", google(row("a", 9) + ",\n" + R"({"name": "b", "run_type": "iteration"})"));
  EXPECT_EQ(error_of("google-benchmark", file),
            "[import] " + file.string() + ":3: at /benchmarks/1/time_unit: there is no such text");
  EXPECT_THAT(stored(), SizeIs(0));
  EXPECT_FALSE(has_any_sweep(db_));
}

TEST_F(ImportedFiles, MakeASeriesThatIsScreened) {
  for (int day = 10; day < 28; ++day) {
    const double wobble = 1 + 0.002 * (day * 7 % 5 - 2);
    import("google-benchmark",
           write("b.json",
                 google(row("a", (day > 25 ? 12 : 10) * wobble) + "," + row("b", 10 * wobble), std::to_string(day))));
  }
  const auto history = look_at_history(db_, {});
  ASSERT_THAT(history.series, SizeIs(2));
  EXPECT_EQ(history.series[0].series.cell, "benchmark=a");
  EXPECT_THAT(history.series[0].nights, SizeIs(18));
  EXPECT_EQ(history.series[0].state, ScreenState::shifted);
  EXPECT_EQ(history.series[1].state, ScreenState::steady);
}

// Two files of each night, and a benchmark that is in both.
TEST_F(ImportedFiles, MayBePartsOfOneNight) {
  for (int day = 10; day < 20; ++day) {
    const auto text = [&](const std::string& rows) { return google(rows, std::to_string(day)); };
    const auto first = write("a.json", text(row("a", 10) + "," + row("both", 20)));
    const auto second = write("b.json", text(row("b", 10) + "," + row("both", 22)));
    const auto imported = import_together({first, second});
    EXPECT_EQ(imported.samples, 8);  // real and CPU times
    EXPECT_EQ(imported.states.at(AttemptState::ok), 4);
    EXPECT_TRUE(import_together({second, first}).present);
  }
  EXPECT_THAT(stored(), SizeIs(40));
  const auto history = look_at_history(db_, {});
  ASSERT_THAT(history.series, SizeIs(3));
  for (const auto& series : history.series) EXPECT_THAT(series.nights, SizeIs(10));
  EXPECT_THAT(history.vanished, SizeIs(0));
  EXPECT_DOUBLE_EQ(history.series[2].nights.back().value, std::sqrt(0.020 * 0.022));  // of two attempts
}

TEST_F(ImportedFiles, AreANightCompletelyOrNotAtAll) {
  const auto whole = write("a.json", google(row("a", 9)));
  const auto damaged = write("b.json", google(R"({"name": "b", "run_type": "iteration"})"));
  EXPECT_THAT(
      [&] {
        import_together({whole, damaged});
      },
      ThrowsMessage<InputError>(HasSubstr("b.json:2: at /benchmarks/0/time_unit")));
  EXPECT_FALSE(has_any_sweep(db_));
}

TEST_F(ImportedFiles, NeedTheNameOfTheirMatrixIfProgramsDiffer) {
  auto other = google(row("b", 9));
  other.replace(other.find("\"bench\""), 7, "\"other\"");
  const std::vector files{write("a.json", google(row("a", 9))), write("b.json", other)};
  EXPECT_THAT([&] { import_together(files); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("is of bench and"), HasSubstr("--matrix"))));
  EXPECT_EQ(import_together(files, "suite").matrix, "suite");
  EXPECT_THAT(stored(), SizeIs(2));
}

// A file without samples begins another series than one with them.
TEST_F(ImportedFiles, DoNotMixAveragesWithSamples) {
  const std::string median = R"({"name": "a_median", "run_name": "a", "run_type": "aggregate", "time_unit": "ms",
      "aggregate_name": "median", "real_time": 7, "cpu_time": 7})";
  import("google-benchmark", write("b.json", google(row("a", 9), "01")));
  EXPECT_EQ(import("google-benchmark", write("c.json", google(median, "02"))).averages, 1);
  const auto attempts = stored();
  ASSERT_THAT(attempts, SizeIs(2));
  EXPECT_NE(attempts[0].run_id, attempts[1].run_id);
  EXPECT_EQ(attempts[1].cell, "benchmark=a statistic=median");
  EXPECT_DOUBLE_EQ(attempts[1].metrics.at("step_time_s"), 7e-3);
  EXPECT_FALSE(attempts[1].metrics.contains("step_time_mean_s"));
}

// The same name in another program, with other parameters or another version is another benchmark.
TEST_F(ImportedFiles, TellBenchmarksApart) {
  const auto hyperfine = [](const std::string& n) {
    return R"({"results": [{"command": "a", "times": [1], "parameters": {"n": ")" + n + R"("}}]})";
  };
  import("hyperfine", write("1.json", hyperfine("1")), "2026-01-01T00:00:00Z");
  import("hyperfine", write("2.json", hyperfine("2")), "2026-01-01T00:00:00Z");
  import("google-benchmark", write("3.json", google(row("a", 9))));
  std::set<std::string> runs;
  for (const auto& attempt : stored()) runs.insert(attempt.run_id);
  EXPECT_THAT(runs, SizeIs(3));
}

TEST_F(ImportedFiles, TakeTheTimeOfTheFileIfItSaysNone) {
  const auto file = write("1.json", R"({"results": [{"command": "a", "times": [1]}]})");
  const auto imported = import("hyperfine", file);
  ASSERT_THAT(imported.notes, SizeIs(1));
  EXPECT_THAT(imported.notes[0], HasSubstr("--date sets another one"));
  EXPECT_THAT(stored().at(0).started_utc, HasSubstr("T"));
}

TEST_F(ImportedFiles, ReadFilesBesideThemAndNoOthers) {
  const auto text = [](const std::string& path) {
    return R"({"benchmarks": [{"name": "copy", "states": [{"axis_values": null, "is_skipped": false, "summaries": [
      {"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value": ")" +
           path + R"("}]}]}]}]})";
  };
  write("in/r.json-bin/0.bin", std::string("\0\0\0\x3f", 4));
  write("secret.bin", std::string("\0\0\0\x3f", 4));
  write("in/secret.bin", std::string("\0\0\0\x3f", 4));
  import("nvbench", write("in/r.json", text("r.json-bin/0.bin")));
  EXPECT_EQ(stored().at(0).metrics.at("step_time_s"), 0.5);
  for (const auto* path : {"../in/secret.bin", "/etc/hostname", "x/../../../secret.bin"}) {
    EXPECT_THAT(error_of("nvbench", write("in/t.json", text(path))), HasSubstr("are missing")) << path;
  }
}

}  // namespace
}  // namespace perfbench::harness
