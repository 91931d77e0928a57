// perfbench-adapter really runs tests/programs/trainer.py, started as the harness starts an engine.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "harness/adapter/output_log.h"
#include "harness/execute/process.h"
#include "harness/execute/process_tree.h"
#include "harness/readers/settle.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/turn_files.h"

namespace perfbench::adapter {
namespace {

namespace fs = std::filesystem;
using harness::ProcessEnd;
using harness::Watch;
using spec::ProgramStatus;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHook = PERFBENCH_SOURCE_DIR "/harness/adapter/perfbench_hook.py";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ProgramRun : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("PYTHONUNBUFFERED");  // may be set where the tests run
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / fmt::format("{}.{}", info->name(), getpid());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    program_ = trainer({});
    program_.reader = "nanogpt";
    program_.steps = 10;
  }
  void TearDown() override { fs::remove_all(dir_); }

  // The trainer without the waiting time of its steps.
  spec::ProgramSpec trainer(const std::vector<std::string>& arguments) const {
    spec::ProgramSpec program;
    program.command = {"python3", PERFBENCH_SOURCE_DIR "/tests/programs/trainer.py", "--made-up", "--steps", "10"};
    program.command.insert(program.command.end(), arguments.begin(), arguments.end());
    return program;
  }
  void add(const std::vector<std::string>& arguments) {
    program_.command.insert(program_.command.end(), arguments.begin(), arguments.end());
  }

  ProcessEnd start(const std::vector<std::string>& more = {}, const Watch& watch = {}) const {
    std::ofstream(dir_ / spec::kProgramFile) << to_json_line(program_);
    std::vector<std::string> command{PERFBENCH_ADAPTER, "run", "--dir", dir_.string()};
    command.insert(command.end(), more.begin(), more.end());
    return harness::run_process({.command = command, .output_file = dir_ / "engine.log"}, watch);
  }
  spec::ProgramResult result() const { return spec::parse_program_result(text_of(dir_ / "result.json")); }
  spec::ProgramResult run() const {
    start();
    return result();
  }
  std::vector<spec::Sample> samples() const {
    std::vector<spec::Sample> out;
    std::ifstream in(dir_ / spec::kSamplesFile);
    for (std::string line; std::getline(in, line);) out.push_back(spec::parse_sample(line));
    return out;
  }
  std::string log() const { return text_of(dir_ / spec::kProgramLogFile); }

  fs::path dir_;
  spec::ProgramSpec program_;
};

TEST_F(ProgramRun, LeavesAResultSamplesTheLogAndTheFactsOfTheNode) {
  program_.facts = {{"commit", "abc"}};
  const auto end = start();
  EXPECT_TRUE(end.succeeded()) << text_of(dir_ / "engine.log");
  EXPECT_EQ(result().status, ProgramStatus::ok);
  EXPECT_EQ(result().reason, "");
  EXPECT_EQ(result().steps, 10);
  EXPECT_EQ(result().samples, 20);
  EXPECT_GT(result().resident_bytes, 1 << 20);
  EXPECT_GT(result().startup_ns, 0);
  EXPECT_GE(result().wall_ns, result().startup_ns);
  EXPECT_THAT(log(), HasSubstr("iter 9: loss 4.9100"));
  ASSERT_EQ(samples().size(), 20U);
  EXPECT_EQ(samples()[0].metric, "step_time_s");
  EXPECT_DOUBLE_EQ(samples()[2].value, 0.0101);
  EXPECT_TRUE(samples()[0].at_ns);
  const auto environment = spec::parse_environment(text_of(dir_ / "env.json"));
  EXPECT_EQ(environment.libraries.at("commit"), "abc");
  EXPECT_GE(environment.cores_allowed, 1);
}

// Each dialect that the trainer prints, with the reader of that name.
class EveryReader : public ProgramRun, public testing::WithParamInterface<std::string> {};

TEST_P(EveryReader, ReadsItsProgram) {
  program_ = trainer({"--dialect", GetParam() == "hf_trainer" ? "hf_trainer" : GetParam()});
  program_.reader = GetParam();
  program_.steps = 10;
  program_.work = {.tokens_per_device = 4096, .samples = 64};
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_EQ(found.steps, 10);
  const auto settled = readers::settle(samples(), {.drop = 3});
  const bool prints_times = GetParam() != "seqax" && GetParam() != "torchprime";
  if (prints_times) {
    EXPECT_NEAR(readers::mean_step_time_s(settled), 0.0101, 0.0003);
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, EveryReader,
                         testing::Values("maxtext", "torchtitan", "megatron", "megatron_bridge", "nemo", "axlearn",
                                         "llmc", "nanogpt", "hf_trainer", "litgpt", "deepspeed", "levanter", "seqax",
                                         "torchprime"),
                         [](const auto& one) { return one.param; });

// A program that waits until its line was read: no two lines arrive at once on a busy machine.
constexpr const char* kWaitsForItsReader = R"(
for step in range(10):
    print({"loss": 4.0, "epoch": step / 10}, flush=True)
    while len(open("samples.jsonl").readlines()) <= step:
        pass
)";

TEST_F(ProgramRun, TakesTheTimesOfArrivalWhereAProgramPrintsNone) {
  program_.command = {"python3", "-c", kWaitsForItsReader};
  program_.reader = "hf_trainer";
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_THAT(found.notes, Contains(HasSubstr("the program prints no step time")));
}

TEST_F(ProgramRun, SaysThatAProgramBuffersItsOutput) {
  program_ = trainer({"--dialect", "hf4"});
  program_.reader = "hf_trainer";
  program_.env = {{"PYTHONUNBUFFERED", ""}};  // a program whose environment says otherwise
  EXPECT_THAT(run().notes, Contains(HasSubstr("start Python with -u")));
}

TEST_F(ProgramRun, ReadsMetricFilesInFullPrecisionAndCopiesThem) {
  program_.reader = "maxtext";
  program_.work.tokens_per_device = 4096;
  for (const auto* format : {"maxtext_jsonl", "hf_state", "lightning_csv", "torchtune"}) {
    SCOPED_TRACE(format);
    program_.command = trainer({"--dialect", "maxtext", "--file", std::string(format) + "=out/m-1.txt"}).command;
    program_.files = {{"out/m-*.txt", format}};
    fs::remove_all(dir_ / "out");
    const auto found = run();
    EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
    const auto settled = readers::settle(samples(), {.drop = 3});
    EXPECT_NEAR(readers::mean_step_time_s(settled), 0.0101, 0.0002);
    for (const auto& sample : settled.samples) {
      if (sample.metric == "step_time_s") {
        EXPECT_LE(sample.resolution, 1e-3 / 4) << "that of the log is 1 ms";
      }
    }
    EXPECT_EQ(text_of(dir_ / "files" / "1-m-1.txt"), text_of(dir_ / "out" / "m-1.txt"));
  }
}

TEST_F(ProgramRun, ReadsDeclaredMetricsByRegexAndByKey) {
  program_ = trainer({"--dialect", "plain", "--file", "jsonl=m.jsonl"});
  program_.metrics = {{"step_time_s", {.regex = R"(step (?P<step>\d+) took (?P<value>[\d.]+) ms)", .unit = "ms"}},
                      {"file_time_s", {.key = "time/ms", .unit = "ms"}}};
  program_.files = {{"m.jsonl", "jsonl"}};
  program_.steps = 10;
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_EQ(found.samples, 20);
  EXPECT_DOUBLE_EQ(samples().front().value, 0.01);
  EXPECT_EQ(samples().back().metric, "file_time_s");
}

TEST_F(ProgramRun, ReadsWhatAProgramAppendsItself) {
  program_ = trainer({"--dialect", "silent", "--hook", kHook});
  program_.steps = 10;
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_EQ(found.steps, 10);
  EXPECT_EQ(found.samples, 20);
}

// Grants and counts every requested turn, as the harness does.
TEST_F(ProgramRun, AsksForATurnBeforeEachStepAndOnceBeforeItsEnd) {
  const auto turns = dir_ / "turns";
  fs::create_directories(turns);
  std::array<int, 2> fifos{};
  std::size_t opened = 0;
  for (const auto& name : {std::string(spec::kTurnAsksFile), spec::turn_go_file(0)}) {
    ASSERT_EQ(mkfifo((turns / name).c_str(), 0600), 0);
    fifos[opened++] = open((turns / name).c_str(), O_RDWR | O_CLOEXEC);
  }
  constexpr char kEnd = 'E';
  int asked = 0;
  std::thread giver([&] {
    for (char byte = 0; read(fifos[0], &byte, 1) == 1 && byte != kEnd; ++asked) {
      if (write(fifos[1], "g", 1) != 1) return;
    }
  });
  program_ = trainer({"--dialect", "silent", "--hook", kHook});
  program_.turns = true;
  const auto end = start({"--turns", turns.string()});
  EXPECT_EQ(write(fifos[0], &kEnd, 1), 1);
  giver.join();
  for (const int fifo : fifos) close(fifo);
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(asked, 11);
}

TEST_F(ProgramRun, AProgramWithoutMetricsHasOnlyItsWallTime) {
  program_ = trainer({"--dialect", "silent"});
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_GT(found.wall_ns, 0);
  EXPECT_EQ(found.samples, 0);
}

// A failure of a program, and the message about it.
struct Misdeed {
  std::string name;
  std::vector<std::string> arguments;
  ProgramStatus status;
  std::vector<std::string> said;
};
std::ostream& operator<<(std::ostream& out, const Misdeed& misdeed) {
  return out << misdeed.name;
}

class Misdeeds : public ProgramRun, public testing::WithParamInterface<Misdeed> {};

TEST_P(Misdeeds, AreStatesWithAReason) {
  add(GetParam().arguments);
  const auto end = start();
  const bool is_well = GetParam().status == ProgramStatus::ok;
  EXPECT_EQ(end.exit_code, is_well ? 0 : 4) << "never the exit code of the program";
  const auto found = result();
  EXPECT_EQ(found.status, GetParam().status) << found.reason;
  for (const auto& said : GetParam().said) {
    EXPECT_THAT(found.reason + testing::PrintToString(found.notes), HasSubstr(said));
  }
  if (!is_well) {
    EXPECT_THAT(text_of(dir_ / "engine.log"), HasSubstr("perfbench-adapter: " + found.reason));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Misdeeds,
    testing::Values(
        Misdeed{"crash",
                {"--crash-after", "4"},
                ProgramStatus::crashed,
                {"exit code 1 after 4 of 10 steps: Traceback: something went wrong"}},
        Misdeed{"exit_code_of_the_engine",
                {"--crash-after", "4", "--exit-code", "6"},
                ProgramStatus::crashed,
                {"exit code 6 after 4 of 10 steps"}},
        Misdeed{
            "signal", {"--signal-after", "2"}, ProgramStatus::crashed, {"signal 11 (Segmentation fault)", "2 of 10"}},
        Misdeed{"silent_end", {"--stop-after", "5"}, ProgramStatus::quarantined, {"ended well", "5 of 10 steps"}},
        Misdeed{"nothing_printed", {"--dialect", "silent"}, ProgramStatus::quarantined, {"printed nothing"}},
        Misdeed{"another_program",
                {"--dialect", "megatron"},
                ProgramStatus::quarantined,
                {"none of its 10 lines is a record of reader nanogpt", "reader megatron finds records in them"}},
        Misdeed{"other_units",
                {"--dialect", "plain"},
                ProgramStatus::quarantined,
                {"none of its 10 lines is a record", "its last line is: step 9 took"}},
        Misdeed{"lost_loss", {"--nan-at", "7"}, ProgramStatus::diverged, {"not a finite number at step 7"}},
        Misdeed{"restart",
                {"--restart-at", "6"},
                ProgramStatus::quarantined,
                {"restarted", "steps 3 to 5 taken twice", "restarts: allowed"}},
        Misdeed{"children", {"--children", "2"}, ProgramStatus::ok, {"left 2 processes behind"}},
        Misdeed{"input", {"--ask"}, ProgramStatus::crashed, {"no terminal"}},
        Misdeed{"variable", {"--needs", "MY_DATA"}, ProgramStatus::crashed, {"set the environment variable MY_DATA"}},
        Misdeed{"device_memory",
                {"--say", "torch.cuda.OutOfMemoryError: CUDA out of memory", "--crash-after", "0"},
                ProgramStatus::out_of_memory,
                {"a smaller batch"}}),
    [](const auto& one) { return one.param.name; });

TEST_F(ProgramRun, KeepsNoProcessThatWasLeftBehind) {
  add({"--children", "2"});
  const auto before = harness::descendants(getpid());
  EXPECT_EQ(run().children_left, 2);
  EXPECT_EQ(harness::descendants(getpid()), before);
}

TEST_F(ProgramRun, AllowsDeclaredRestarts) {
  add({"--restart-at", "6"});
  program_.restarts = spec::Restarts::allowed;
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_EQ(found.restarts, 1);
}

TEST_F(ProgramRun, RequiresTheDeclaredFinalLine) {
  program_.finished.line = "Training completed";
  EXPECT_THAT(run().reason, HasSubstr("never printed 'Training completed'"));
  add({"--done", "INFO Training completed."});
  EXPECT_EQ(run().status, ProgramStatus::ok);
}

TEST_F(ProgramRun, AcceptsADeclaredExitCode) {
  program_.finished.exit = 3;
  EXPECT_THAT(run().reason, HasSubstr("exit code 0 after 10 of 10 steps"));
  add({"--crash-after", "10", "--exit-code", "3"});
  EXPECT_EQ(run().status, ProgramStatus::ok);
}

TEST_F(ProgramRun, KeepsTheBeginningAndTheEndOfAFlood) {
  add({"--flood", "20000000", "--done", "the end"});
  const auto found = run();
  EXPECT_EQ(found.status, ProgramStatus::ok) << found.reason;
  EXPECT_GT(found.output_bytes, 20'000'000);
  EXPECT_GT(found.dropped_bytes, 1'000'000);
  EXPECT_THAT(found.notes, Contains(HasSubstr("bytes of output were read but not kept")));
  const auto kept = log();
  EXPECT_LE(kept.size(), static_cast<std::size_t>(OutputLog::kHeadBytes + 2 * OutputLog::kTailBytes));
  EXPECT_TRUE(kept.starts_with("iter 0: ")) << kept.substr(0, 100);
  EXPECT_TRUE(kept.ends_with("the end\n"));
  EXPECT_NE(kept.find(fmt::format("[perfbench: {} bytes of output are left out here]", found.dropped_bytes)),
            std::string::npos);
}

TEST_F(ProgramRun, SumsTheMemoryOfAllProcesses) {
  add({"--memory", "50000000"});
  const auto alone = run().resident_bytes;
  EXPECT_GT(alone, 50'000'000);
  EXPECT_LT(alone, 500'000'000);
}

// Ends the adapter as the harness does, once a step has been recorded.
TEST_F(ProgramRun, EndsAProgramThatHangsAndKeepsItsOutput) {
  for (const bool deaf : {false, true}) {
    SCOPED_TRACE(deaf);
    program_ = trainer({"--hang-after", "4"});
    if (deaf) add({"--deaf"});
    program_.reader = "nanogpt";
    program_.steps = 10;
    fs::remove(dir_ / spec::kSamplesFile);
    std::ofstream(dir_ / spec::kProgramFile) << to_json_line(program_);
    harness::Process adapter(
        {.command = {PERFBENCH_ADAPTER, "run", "--dir", dir_.string()}, .output_file = dir_ / "engine.log"});
    const auto end = adapter.wait({.on_tick = [&] {
      if (text_of(dir_ / spec::kSamplesFile).find("\"step\":3") == std::string::npos) return;
      kill(adapter.pid(), SIGTERM);
      if (deaf) kill(adapter.pid(), SIGINT);
    }});
    EXPECT_EQ(end.exit_code, 4);
    EXPECT_EQ(result().status, ProgramStatus::stopped);
    EXPECT_THAT(result().reason, HasSubstr("ended from outside after 4 of 10 steps: iter 3: loss"));
    EXPECT_EQ(samples().size(), 8U);
  }
}

// In a session of its own there is no /dev/tty on which to ask.
TEST_F(ProgramRun, GivesAProgramNoTerminalAndNoInput) {
  program_ = {};
  program_.command = {"python3", "-c",
                      "import os, sys; print('own session', os.getsid(0) == os.getpid(), repr(sys.stdin.read()))"};
  EXPECT_EQ(run().status, ProgramStatus::ok);
  EXPECT_EQ(log(), "own session True ''\n");
}

TEST_F(ProgramRun, ShowsNoSecret) {
  setenv("MY_API_KEY", "abcdefgh-secret-12345", 1);
  program_.env = {{"COLOUR", "blue"}};
  add({"--needs", "MY_API_KEY", "--say", "the key is abcdefgh-secret-12345", "--crash-after", "3"});
  start();
  unsetenv("MY_API_KEY");
  EXPECT_THAT(log(), HasSubstr("found [secret]"));
  for (const auto& file : fs::recursive_directory_iterator(dir_)) {
    if (file.path().filename() == spec::kProgramFile) continue;  // written by the test
    EXPECT_THAT(text_of(file.path()), Not(HasSubstr("secret-12345"))) << file.path();
  }
}

TEST_F(ProgramRun, DoesNotStartAnInvalidRun) {
  const auto refused = [this](const std::function<void(spec::ProgramSpec&)>& change,
                              const std::vector<std::string>& arguments = {}) {
    const auto kept = program_;
    change(program_);
    const auto end = start(arguments);
    program_ = kept;
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_EQ(result().status, ProgramStatus::input_error);
    return result().reason;
  };
  EXPECT_THAT(refused([](auto& p) { p.command = {"no-such-trainer"}; }), HasSubstr("it is not in PATH"));
  EXPECT_THAT(refused([](auto& p) { p.command = {"/nowhere/x"}; }), HasSubstr("there is no such file"));
  EXPECT_THAT(refused([](auto& p) { p.command = {"/etc/passwd"}; }), HasSubstr("chmod +x"));
  EXPECT_THAT(refused([](auto& p) { p.command = {}; }), HasSubstr("'command' is empty"));
  EXPECT_THAT(refused([](auto& p) { p.workdir = "nowhere"; }), HasSubstr("nowhere does not exist"));
  EXPECT_THAT(refused([](auto& p) { p.needs = {"PERFBENCH_NOT_SET"}; }),
              HasSubstr("PERFBENCH_NOT_SET, which is not set"));
  EXPECT_THAT(refused([](auto& p) { p.env = {{"HF_TOKEN", "x"}}; }), HasSubstr("export it where perfbench is started"));
  EXPECT_THAT(refused([](auto& p) { p.reader = "nanogtp"; }), HasSubstr("did you mean 'nanogpt'"));
  EXPECT_THAT(refused([](auto& p) { p.files = {{"x", "cvs"}}; }), HasSubstr("did you mean 'csv'"));
  EXPECT_THAT(refused([](auto& p) { p.metrics = {{"a_s", {.regex = "(", .unit = "ms"}}}; }), HasSubstr("RE2"));
  EXPECT_THAT(refused([](auto&) {}, {"--turns", dir_.string()}), HasSubstr("turns: true"));
  EXPECT_THAT(text_of(dir_ / "engine.log"), HasSubstr("perfbench-adapter: it cannot take turns"));
  fs::remove(dir_ / spec::kProgramFile);
  const auto end = harness::run_process({.command = {PERFBENCH_ADAPTER, "run", "--dir", dir_.string()}});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("there is no "));
}

TEST_F(ProgramRun, ReportsAMissingOrOldMetricFile) {
  program_.files = {{"m.jsonl", "maxtext_jsonl"}};
  EXPECT_THAT(run().reason, HasSubstr("wrote no "));
  std::ofstream(dir_ / "m.jsonl") << "{\"step\": 1, \"perf/step_time_seconds\": 1}\n";
  EXPECT_THAT(run().reason, HasSubstr("older than the run"));
  std::ofstream(dir_ / "m-2.jsonl") << "\n";
  program_.files = {{"m*.jsonl", "maxtext_jsonl"}};
  EXPECT_THAT(run().reason, HasSubstr("names 2 files, m-2.jsonl and m.jsonl"));
}

TEST(Adapter, AnswersAsAnEngineDoes) {
  const auto ask = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> command{PERFBENCH_ADAPTER};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return harness::run_process({.command = command});
  };
  EXPECT_TRUE(ask({"check", "--turns"}).succeeded());
  EXPECT_EQ(ask({"check", "--inject", "x"}).exit_code, 3);
  const auto environment = ask({"env"});
  EXPECT_TRUE(environment.succeeded());
  EXPECT_FALSE(spec::parse_environment(environment.output).hostname.empty());
  EXPECT_EQ(ask({}).exit_code, 3);
  EXPECT_THAT(ask({"dry"}).error_output, HasSubstr("there is no command 'dry'"));
  EXPECT_THAT(ask({"run", "--dir"}).error_output, HasSubstr("--dir needs a value"));
  EXPECT_THAT(ask({"--help"}).output, HasSubstr("run --dir DIR"));
}

}  // namespace
}  // namespace perfbench::adapter
