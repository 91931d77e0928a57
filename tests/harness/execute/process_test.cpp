#include "harness/execute/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

#include "harness/execute/process_tree.h"
#include "harness/system/files.h"

namespace perfbench::harness {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

ProcessRequest shell(const std::string& script) {
  return {.command = {"/bin/sh", "-c", script}};
}

// A handle that stays valid when the process is gone, and becomes readable when it ends.
FileDescriptor process_handle(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

testing::AssertionResult ends(const FileDescriptor& handle) {
  if (!handle.is_open()) return testing::AssertionSuccess() << "already gone";
  pollfd watched{handle.get(), POLLIN, 0};
  constexpr int kPatienceMs = 20'000;
  if (poll(&watched, 1, kPatienceMs) == 1) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the process still runs";
}

TEST(Process, ReportsTheExitCode) {
  const auto end = run_process(shell("exit 7"));
  EXPECT_EQ(end.cause, EndCause::exited);
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_FALSE(end.succeeded());
}

TEST(Process, ReportsTheSignalThatEndedIt) {
  const auto end = run_process(shell("kill -SEGV $$"));
  EXPECT_EQ(end.cause, EndCause::exited);
  EXPECT_EQ(end.signal, SIGSEGV);
}

TEST(Process, KeepsStandardOutputAndErrorApart) {
  const auto end = run_process(shell("echo result; echo trouble >&2"));
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(end.output, "result\n");
  EXPECT_EQ(end.error_output, "trouble\n");
}

// It prints so fast that reading it alone would never leave time to check the limit.
TEST(Process, IsEndedByItsTimeLimitThoughItPrintsWithoutEnd) {
  const auto end = run_process(shell("exec yes"), {.time_limit = milliseconds(200)});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST(Process, IsEndedWhenOneOfItsFilesGrowsTooLarge) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("endless." + std::to_string(getpid()));
  auto request = shell("exec yes");
  request.output_file = file;
  request.largest_file_bytes = 10'000;
  EXPECT_EQ(run_process(request).signal, SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(file), 10'000U);
  std::filesystem::remove(file);
}

TEST(Process, CapturesMoreThanAPipeHolds) {
  const auto end = run_process(shell("head -c 3000000 /dev/zero"));
  EXPECT_EQ(end.output.size(), 3'000'000U);
}

TEST(Process, PassesArgumentsWithoutAShell) {
  const auto end = run_process({.command = {"printf", "%s", "$(id) `id` ; * \"'"}});
  EXPECT_EQ(end.output, "$(id) `id` ; * \"'");
}

TEST(Process, WritesBothStreamsToTheFileAskedFor) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("process_output." + std::to_string(getpid()));
  auto request = shell("echo one; echo two >&2");
  request.output_file = file;
  EXPECT_TRUE(run_process(request).succeeded());
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "one\ntwo\n");
  std::filesystem::remove(file);
}

TEST(Process, AddsToTheEnvironmentAndReplacesInIt) {
  auto request = shell("echo $OMP_NUM_THREADS $PATH; pwd");
  request.environment = {{"OMP_NUM_THREADS", "3"}, {"PATH", "/bin"}};
  request.working_dir = "/proc";
  EXPECT_EQ(run_process(request).output, "3 /bin\n/proc\n");
}

TEST(Process, InheritsNoSecretOfTheHarness) {
  ::setenv("PERFBENCH_WEBHOOK_URL", "https://hooks.example/secret", 1);
  ::setenv("PERFBENCH_WEBHOOK_TOKEN", "xoxb-secret", 1);
  ::setenv("PERFBENCH_WEBHOOK", "kept: another name", 1);
  const auto inherited = run_process({.command = {"env"}}).output;
  auto asked = shell("echo $PERFBENCH_WEBHOOK_TOKEN");
  asked.environment = {{"PERFBENCH_WEBHOOK_TOKEN", "given"}};
  const auto given = run_process(asked).output;
  for (const auto* name : {"PERFBENCH_WEBHOOK_URL", "PERFBENCH_WEBHOOK_TOKEN", "PERFBENCH_WEBHOOK"}) ::unsetenv(name);
  EXPECT_THAT(inherited, ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(inherited, HasSubstr("PERFBENCH_WEBHOOK=kept"));
  EXPECT_EQ(given, "given\n") << "what is asked for is passed on";
}

// Otherwise an engine of one rank takes itself for a rank of the job in which the user started perfbench.
TEST(Process, InheritsNoVariablesOfALauncherAroundTheHarness) {
  constexpr std::array kOfLaunchers{"OMPI_COMM_WORLD_SIZE",
                                    "OMPI_MCA_orte_hnp_uri",
                                    "PMIX_RANK",
                                    "PMIX_SERVER_URI41",
                                    "PMI_SIZE",
                                    "SLURM_PROCID",
                                    "SLURM_STEP_NUM_TASKS",
                                    "RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "MASTER_ADDR",
                                    "TORCHELASTIC_RUN_ID",
                                    "MV2_COMM_WORLD_RANK"};
  constexpr std::array kOfPeople{"OMPI_MCA_btl", "PMIX_MCA_gds", "SLURM_JOB_ID", "OMPI_ALLOW_RUN_AS_ROOT", "RANKS"};
  for (const auto* name : kOfLaunchers) ::setenv(name, "4", 1);
  for (const auto* name : kOfPeople) ::setenv(name, "mine", 1);
  auto request = ProcessRequest{.command = {"env"}};
  const auto inherited = "\n" + run_process(request).output;
  request.environment = {{"PMIX_RANK", "given"}};
  const auto given = run_process(request).output;
  for (const auto* name : kOfLaunchers) {
    ::unsetenv(name);
    EXPECT_THAT(inherited, ::testing::Not(HasSubstr(std::string("\n") + name + "=")));
  }
  for (const auto* name : kOfPeople) {
    ::unsetenv(name);
    EXPECT_THAT(inherited, HasSubstr(std::string("\n") + name + "=mine\n"));
  }
  EXPECT_THAT(given, HasSubstr("PMIX_RANK=given\n")) << "what is asked for is passed on";
}

TEST(Process, SaysWhatCouldNotBeStarted) {
  try {
    Process({.command = {"/nowhere/perfbench-engine"}});
    FAIL() << "started what does not exist";
  } catch (const LaunchError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'/nowhere/perfbench-engine'"));
    EXPECT_THAT(e.what(), HasSubstr("No such file"));
  }
}

TEST(Process, HidesTheDescriptorsOfTheHarness) {
  const int leaked = open("/dev/null", 0);
  dup2(leaked, 200);
  // 0, 1, 2 and the folder that ls itself reads.
  EXPECT_EQ(run_process({.command = {"ls", "/proc/self/fd"}}).output, "0\n1\n2\n3\n");
  close(leaked);
  close(200);
}

TEST(Process, IsEndedAtItsTimeLimit) {
  const auto end = run_process({.command = {"sleep", "1000"}}, {.time_limit = milliseconds(50)});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.signal, SIGTERM);
}

// The clock does not run, so the limit can end it only after the second answer.
TEST(Process, PausesDoNotCountAgainstItsTimeLimit) {
  auto asked = 0;
  const auto end =
      run_process({.command = {"sleep", "1000"}}, {.time_limit = milliseconds(1),
                                                   .paused = [&asked]() -> std::chrono::nanoseconds {
                                                     return ++asked < 5 ? std::chrono::hours(1) : milliseconds(0);
                                                   },
                                                   .on_tick = [] {}});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(asked, 5);
}

// Receives the messages of a command through `echo >"$FIFO"`: tests wait for events and not for delays.
class Told {
 public:
  Told() : path_(std::filesystem::path(testing::TempDir()) / ("process_fifo." + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
    if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no FIFO " + path_.string());
    fd_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC));  // both ends, so that no open blocks
  }
  ~Told() { std::filesystem::remove(path_); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  int fd() const { return fd_.get(); }
  ProcessRequest request(const std::string& script) const {
    auto out = shell(script);
    out.environment = {{"FIFO", path_.string()}};
    return out;
  }
  void wait_for_a_line() const {
    char byte = 0;
    while (read(fd(), &byte, 1) == 1 && byte != '\n') {
    }
  }

 private:
  std::filesystem::path path_;
  FileDescriptor fd_;
};

TEST(Process, IsKilledWhenItIgnoresTheRequestToEnd) {
  const Told told;
  Process process(told.request("trap '' TERM; echo deaf >\"$FIFO\"; while :; do sleep 1000; done"));
  told.wait_for_a_line();
  const auto end = process.wait({.time_limit = milliseconds(1), .grace = milliseconds(1)});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Process, ReportsAnInterruptionDuringTheGraceOfATimeLimit) {
  const Told told;
  // Answers the request to end by an interruption, and continues. It is busy, because a shell that receives the signal
  // just before it waits for a child runs its trap only after the child.
  Process process(told.request("trap 'echo interrupted >\"$FIFO\"' TERM; echo ready >\"$FIFO\"; while :; do :; done"));
  told.wait_for_a_line();
  const auto end =
      process.wait({.time_limit = milliseconds(1), .grace = std::chrono::hours(1), .cancel_fd = told.fd()});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_TRUE(end.cancel_seen);
}

TEST(Process, IsEndedByAByteOnTheCancelDescriptor) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  const auto end = run_process({.command = {"sleep", "1000"}}, {.cancel_fd = fds[0]});
  EXPECT_EQ(end.cause, EndCause::cancelled);
  close(fds[0]);
  close(fds[1]);
}

TEST(Process, IsKilledWhenItHoldsMoreThanItsMemoryLimit) {
  // tail keeps a line without an end in memory.
  const auto end = run_process({.command = {"tail", "/dev/zero"}}, {.memory_limit_bytes = std::int64_t{64} << 20});
  EXPECT_EQ(end.cause, EndCause::memory_limit);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_GT(end.peak_resident_bytes, std::int64_t{64} << 20);
}

TEST(Process, LeavesNoOrphanBehind) {
  const auto end = run_process(shell("setsid sleep 1000 >/dev/null 2>&1 & echo $!"));
  const auto orphan = static_cast<pid_t>(std::stol(end.output));
  EXPECT_EQ(kill(orphan, 0), -1) << "process " << orphan << " outlived its command";
}

TEST(Process, TellsBelowWhichProcessItRuns) {
  pid_t root = 0;
  Process process({.command = {"sleep", "1000"}});
  const pid_t command = process.pid();
  std::vector<pid_t> below;
  std::map<pid_t, std::chrono::nanoseconds> used;
  Event cancel;
  process.wait({.cancel_fd = cancel.fd(), .on_start = [&](pid_t found) {
                  root = found;
                  below = descendants(root);
                  used = cpu_times(below);
                  cancel.add();
                }});
  EXPECT_NE(root, command);
  EXPECT_THAT(below, testing::ElementsAre(command));
  EXPECT_TRUE(used.contains(command));  // it may have used nothing so far
  EXPECT_TRUE(cpu_times(below).empty()) << "gone";
}

TEST(Process, HasUsedWhatItsOwnClockSays) {
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto before = used();
  const auto times = cpu_times({getpid()});
  ASSERT_TRUE(times.contains(getpid()));
  EXPECT_GE(times.at(getpid()), before);
  EXPECT_LE(times.at(getpid()), used());
}

TEST(Process, TicksWhileItRuns) {
  int ticks = 0;
  run_process({.command = {"sleep", "1000"}}, {.time_limit = milliseconds(100), .on_tick = [&ticks] { ++ticks; }});
  EXPECT_GE(ticks, 1);
}

// Stands for a harness: starts a tree of two processes and reports their ids to the test. The lower one is in a session
// of its own, as mpirun's ranks are in groups of their own.
[[noreturn]] void harness_that_waits_for_ever(int report_fd) {
  Process process(shell("setsid sleep 1000 & echo $! > /proc/self/fd/1; wait"));
  const pid_t command = process.pid();
  if (write(report_fd, &command, sizeof command) < 0) _exit(1);
  process.wait({});
  _exit(0);
}

// Disables close_range for this thread and its children, as a kernel before Linux 5.9 or a sandbox does.
void lose_close_range() {
  std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{filter.size(), filter.data()};
  const bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 && close_range(1000, 1000, 0) != 0;
  if (!done) throw std::runtime_error("no seccomp filter");
}

void keep_close_range() {}

class KilledHarness : public testing::TestWithParam<void (*)()> {};

TEST_P(KilledHarness, LeavesNoProcessBehind) {
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t harness = fork();
  if (harness == 0) {
    GetParam()();
    harness_that_waits_for_ever(fds[1]);
  }
  pid_t command = 0;
  ASSERT_EQ(read(fds[0], &command, sizeof command), static_cast<ssize_t>(sizeof command));
  const auto command_handle = process_handle(command);
  ASSERT_TRUE(command_handle.is_open());
  // The child of the command, once it exists.
  const auto children = "/proc/" + std::to_string(command) + "/task/" + std::to_string(command) + "/children";
  pid_t child = 0;
  while (child == 0) std::ifstream(children) >> child;
  const auto child_handle = process_handle(child);
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  EXPECT_TRUE(ends(command_handle));
  EXPECT_TRUE(ends(child_handle));
  close(fds[0]);
  close(fds[1]);
}

// As after a kill -9 of `perfbench sweep` whose containers belong to a daemon.
TEST(Process, RunsItsLastCommandThoughTheHarnessIsKilled) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const auto file = std::filesystem::path(testing::TempDir()) / ("last." + std::to_string(getpid()));
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const pid_t harness = fork();
  if (harness == 0) {
    auto request = shell("echo; exec sleep 1000");
    request.last_command = {"sh", "-c", "echo ended > " + file.string()};
    Process process(request);
    if (write(fds[1], "x", 1) != 1) _exit(1);
    process.wait({});
    _exit(0);
  }
  char started = 0;
  ASSERT_EQ(read(fds[0], &started, 1), 1);
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  const FileDescriptor reader(open(file.c_str(), O_RDONLY | O_NONBLOCK));
  pollfd watched{reader.get(), POLLIN, 0};
  constexpr int kPatienceMs = 20'000;
  ASSERT_EQ(poll(&watched, 1, kPatienceMs), 1);
  std::array<char, 6> said{};
  EXPECT_EQ(read(reader.get(), said.data(), said.size()), 6);
  std::filesystem::remove(file);
  close(fds[0]);
  close(fds[1]);
}

TEST(Process, HasRunItsLastCommandWhenItIsOver) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("after." + std::to_string(getpid()));
  auto request = shell("exit 3");
  request.last_command = {"sh", "-c", "echo ended > " + file.string()};
  EXPECT_EQ(run_process(request).exit_code, 3);
  EXPECT_TRUE(std::filesystem::exists(file));
  request.last_command = {"/no/such/program"};
  EXPECT_EQ(run_process(request).exit_code, 3);
  std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(WithCloseRange, KilledHarness, testing::Values(&keep_close_range));
INSTANTIATE_TEST_SUITE_P(WithoutCloseRange, KilledHarness, testing::Values(&lose_close_range));

pid_t warden_of(const Process& process) {
  std::ifstream in("/proc/" + std::to_string(process.pid()) + "/status");
  for (std::string word; in >> word;) {
    pid_t parent = 0;
    if (word == "PPid:" && in >> parent) return parent;
  }
  throw std::runtime_error("no parent of the command");
}

// Like a rank under mpirun: in a session of its own, and alive when the process that started it is killed.
TEST(Process, HasEndedWithAllBelowItThoughSomebodyKilledTheWarden) {
  const Told told;
  Process process(told.request("setsid sleep 1000 & echo $! >\"$FIFO\"; wait"));
  std::string line;
  for (char byte = 0; read(told.fd(), &byte, 1) == 1 && byte != '\n';) line += byte;
  const auto child = process_handle(static_cast<pid_t>(std::stol(line)));
  kill(warden_of(process), SIGKILL);
  EXPECT_EQ(process.wait({}).signal, SIGKILL);
  pollfd ended{child.get(), POLLIN, 0};
  // A killed process has no environment any more, by which wait() finds it, a moment before it has ended.
  constexpr int kPatienceMs = 60'000;
  EXPECT_EQ(poll(&ended, 1, kPatienceMs), 1) << "what the command started runs beside the next cell";
}

TEST(Process, IsEndedAtItsTimeLimitThoughSomebodyHasStoppedTheWarden) {
  Process process({.command = {"sleep", "1000"}});
  const auto warden = warden_of(process);
  kill(warden, SIGSTOP);
  ASSERT_EQ(waitpid(warden, nullptr, WUNTRACED), warden);
  const auto end = process.wait({.time_limit = milliseconds(1)});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST(Process, IsEndedWithAllBelowItThoughTheWardenNeverAnswers) {
  const Told told;
  Process process(told.request("setsid sleep 1000 & echo $! >\"$FIFO\"; wait"));
  std::string line;
  for (char byte = 0; read(told.fd(), &byte, 1) == 1 && byte != '\n';) line += byte;
  const auto command = process_handle(process.pid());
  const auto child = process_handle(static_cast<pid_t>(std::stol(line)));
  const auto warden = warden_of(process);
  // A process that a debugger holds does not continue on a signal.
  if (ptrace(PTRACE_ATTACH, warden, nullptr, nullptr) != 0) GTEST_SKIP() << "a debugger is not allowed here";
  ASSERT_EQ(waitpid(warden, nullptr, 0), warden);
  const auto end =
      process.wait({.time_limit = milliseconds(1), .grace = milliseconds(1), .warden_patience = milliseconds(1)});
  EXPECT_EQ(end.cause, EndCause::time_limit);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_TRUE(ends(command));
  EXPECT_TRUE(ends(child));
}

}  // namespace
}  // namespace perfbench::harness
