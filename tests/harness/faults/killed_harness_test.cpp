// The harness is killed at random moments: no finished cell is lost, none is repeated.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "harness/store/queries/running_sweeps.h"
#include "harness/system/utc.h"
#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

// A child whose standard error is read line by line, so that the moment of the kill is an event and not a delay.
class KillableSweep {
 public:
  explicit KillableSweep(const ProcessRequest& request) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(nothing, STDOUT_FILENO);
      if (::chdir(request.working_dir.c_str()) != 0) ::_exit(126);
      for (const auto& [name, value] : request.environment) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> argv;
      for (const auto& argument : request.command) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    lines_ = ::fdopen(ends[0], "r");
  }
  ~KillableSweep() { std::fclose(lines_); }
  KillableSweep(const KillableSweep&) = delete;
  KillableSweep& operator=(const KillableSweep&) = delete;

  // False at the end of the output.
  bool read_line() {
    char* line = nullptr;
    std::size_t size = 0;
    const bool got = ::getline(&line, &size, lines_) > 0;
    std::free(line);
    return got;
  }

  int kill_and_wait() {
    ::kill(child_, SIGKILL);
    int status = 0;
    ::waitpid(child_, &status, 0);
    return status;
  }

 private:
  pid_t child_ = -1;
  std::FILE* lines_ = nullptr;
};

TEST_F(Faults, KillsOfTheHarnessLoseNoFinishedCellAndRepeatNone) {
  constexpr int kKills = 20;
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < 60; ++i) seeds.push_back(static_cast<std::int64_t>(fake::FakeBehaviour::first_ok) + i);
  write_matrix(seeds);
  std::mt19937 random(20261121);
  int killed = 0;
  for (int i = 0; i < kKills; ++i) {
    KillableSweep running(sweep_request({"--resume"}));
    const int lines = static_cast<int>(random() % 6);
    for (int line = 0; line < lines && running.read_line(); ++line) {
    }
    const int status = running.kill_and_wait();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed;
  }
  EXPECT_EQ(killed, kKills) << "the sweep was over before the last kill: the matrix is too small";
  EXPECT_EQ(running_sweeps(open_database(scratch_ / "f.db"), utc_now()).size(), 1U) << "one sweep, which was killed";
  const auto end = sweep({"--resume"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_TRUE(running_sweeps(open_database(scratch_ / "f.db"), utc_now()).empty()) << "it has ended";
  std::map<std::string, int> finished;
  for (const auto& attempt : stored()) {
    ASSERT_EQ(attempt.state, AttemptState::ok) << attempt.reason;
    ++finished[attempt.run_id];
  }
  EXPECT_EQ(finished.size(), seeds.size());
  for (const auto& [run, count] : finished) EXPECT_EQ(count, 1) << run;
}

}  // namespace
}  // namespace perfbench::harness
