#include "harness/execute/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <vector>

#include "harness/execute/process_tree.h"

namespace perfbench::harness {
namespace {

constexpr int kKillPollMs = 20;           // between two looks for processes that were forked while others were killed
constexpr int kKillPatienceRounds = 500;  // after that, a process that is stuck in the kernel is left behind

constexpr std::chrono::seconds kLastCommandPatience{60};

constexpr std::size_t kMostDescriptors = 65536;  // some systems have limits of a thousand million

// Closes all descriptors from `first` to `last`. Without close_range (Linux before 5.9, or a sandbox that refuses it),
// closes those that /proc lists. The harness's end of the control pipe must not stay open here, because the pipe would
// then never close.
void close_descriptors(unsigned first, unsigned last) {
  if (first > last || close_range(first, last, 0) == 0) return;
  std::vector<unsigned> open_ones;
  std::error_code no_proc;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", no_proc)) {
    open_ones.push_back(static_cast<unsigned>(std::strtoul(entry.path().filename().c_str(), nullptr, 10)));
  }
  if (no_proc) {
    open_ones.resize(kMostDescriptors);
    std::iota(open_ones.begin(), open_ones.end(), 0U);
  }
  for (const auto fd : open_ones) {
    if (fd >= first && fd <= last) close(static_cast<int>(fd));
  }
}

// Keeps the four descriptors of `setup` and closes all others that came from the harness: a database, a pipe to a
// pager.
WardenSetup take_descriptors(const WardenSetup& setup) {
  WardenSetup own = setup;
  std::array<int, 4> kept{};
  int index = 0;
  for (int* fd : {&own.control_fd, &own.status_fd, &own.output_fd, &own.error_fd}) {
    *fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
    kept[static_cast<std::size_t>(index++)] = *fd;
  }
  std::sort(kept.begin(), kept.end());
  unsigned first_unwanted = 3;
  for (const int fd : kept) {
    const auto keep = static_cast<unsigned>(fd);
    close_descriptors(first_unwanted, keep - 1);
    first_unwanted = keep + 1;
  }
  close_descriptors(first_unwanted, ~0U);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) dup2(nothing, fd);
  return own;
}

void limit_files(long long bytes) {
  rlimit limit{};
  if (bytes <= 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(bytes));
  setrlimit(RLIMIT_FSIZE, &limit);
}

void take_usual_signals() {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_command(const WardenSetup& setup, int error_pipe) {
  take_usual_signals();
  limit_files(setup.largest_file_bytes);
  dup2(setup.output_fd, STDOUT_FILENO);
  dup2(setup.error_fd, STDERR_FILENO);
  const bool in_place = setup.working_dir == nullptr || chdir(setup.working_dir) == 0;
  if (in_place) execvpe(setup.arguments[0], setup.arguments, setup.environment);
  const int error = errno;
  const auto written = write(error_pipe, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

// Starts the command. The write end of the pipe closes by itself when exec succeeds.
WardenMessage start_command(const WardenSetup& setup) {
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) return {.start_error = errno};
  const pid_t command = fork();
  if (command < 0) return {.start_error = errno};
  if (command == 0) become_command(setup, pipe_fds[1]);
  close(pipe_fds[1]);
  WardenMessage message{.command = command};
  int error = 0;
  if (read(pipe_fds[0], &error, sizeof error) == sizeof error) message.start_error = error;
  close(pipe_fds[0]);
  return message;
}

// Reaps ended processes. Returns whether any process is left below the warden. The warden adopts all orphans, so having
// no child means that the whole tree is gone.
enum class Tree { alive, gone };
Tree reap(WardenMessage& message, bool& command_ended) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended == 0) return Tree::alive;
    if (ended < 0) return errno == EINTR ? Tree::alive : Tree::gone;
    if (ended != message.command) continue;
    message.wait_status = status;
    command_ended = true;
  }
}

// Waits for the signal that a child has ended.
void consume_child_signal(int signal_fd, int timeout_ms) {
  pollfd watched{signal_fd, POLLIN, 0};
  if (poll(&watched, 1, timeout_ms) != 1) return;
  signalfd_siginfo consumed;
  [[maybe_unused]] const auto size = read(signal_fd, &consumed, sizeof consumed);
}

void kill_tree(int signal_fd, WardenMessage& message, bool& command_ended) {
  for (int round = 0; round < kKillPatienceRounds; ++round) {
    kill_descendants(getpid());
    if (reap(message, command_ended) == Tree::gone) return;
    consume_child_signal(signal_fd, kKillPollMs);
  }
}

// Waits until the command has ended, and obeys the orders of the harness until then.
void guard(const WardenSetup& setup, int signal_fd, WardenMessage& message) {
  bool command_ended = false;
  while (true) {
    if (reap(message, command_ended) == Tree::gone) return;
    if (command_ended) return kill_tree(signal_fd, message, command_ended);
    std::array<pollfd, 2> watched{pollfd{setup.control_fd, POLLIN, 0}, pollfd{signal_fd, POLLIN, 0}};
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) consume_child_signal(signal_fd, 0);
    if (watched[0].revents == 0) continue;
    char order = 0;
    const auto received = read(setup.control_fd, &order, 1);
    if (received == 1 && order == static_cast<char>(WardenOrder::terminate)) {
      kill(-message.command, SIGTERM);
    } else {
      return kill_tree(signal_fd, message, command_ended);
    }
  }
}

// Runs the last command, whose output goes nowhere, and kills it with its children if it takes too long.
void run_last_command(const WardenSetup& setup, int signal_fd) {
  if (setup.last_command[0] == nullptr) return;
  WardenMessage last{.command = fork()};
  if (last.command == 0) {
    take_usual_signals();
    execvpe(setup.last_command[0], setup.last_command, setup.environment);
    _exit(127);
  }
  bool has_ended = last.command < 0;
  const auto deadline = std::chrono::steady_clock::now() + kLastCommandPatience;
  while (!has_ended && std::chrono::steady_clock::now() < deadline) {
    if (reap(last, has_ended) == Tree::gone) return;
    if (!has_ended) consume_child_signal(signal_fd, kKillPollMs);
  }
  kill_tree(signal_fd, last, has_ended);
}

int block_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void report(int status_fd, const WardenMessage& message) {
  // If the harness is gone, nobody needs the message.
  [[maybe_unused]] const auto written = write(status_fd, &message, sizeof message);
}

}  // namespace

void run_warden(const WardenSetup& given) {
  setpgid(0, 0);
  prctl(PR_SET_NAME, "perfbench-ward");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const WardenSetup setup = take_descriptors(given);
  const int signal_fd = block_signals();
  WardenMessage message = start_command(setup);
  close(setup.output_fd);
  close(setup.error_fd);
  report(setup.status_fd, message);
  if (message.start_error == 0) {
    guard(setup, signal_fd, message);
    report(setup.status_fd, message);  // first, so that the last command does not count as the command's time
    run_last_command(setup, signal_fd);
  }
  _exit(0);
}

}  // namespace perfbench::harness
