#include "harness/execute/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "harness/execute/process_tree.h"
#include "harness/execute/warden.h"
#include "harness/system/environment_variables.h"
#include "workloads/spec/process_token.h"

extern char** environ;

namespace perfbench::harness {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr auto kTick = milliseconds(250);
constexpr auto kMemorySample = milliseconds(100);
constexpr auto kOrphanPatience = std::chrono::seconds(10);
constexpr int kReadsAtOnce = 32;         // 2 MiB, more than a pipe holds
constexpr int kSamplesPerTreeWalk = 10;  // the set of processes rarely changes

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Pipe make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0)
    throw LaunchError(fmt::format("[launch] cannot create a pipe: {}", std::strerror(errno)));
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

// A socket, because writing to one whose reader is gone need not raise SIGPIPE.
Pipe make_control() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    throw LaunchError(fmt::format("[launch] cannot create a socket: {}", std::strerror(errno)));
  }
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

FileDescriptor open_output(const std::filesystem::path& file) {
  FileDescriptor fd(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.is_open()) {
    throw LaunchError(fmt::format("[launch] cannot write the log {}: {}", file.string(), std::strerror(errno)));
  }
  return fd;
}

bool is_secret(std::string_view variable) {
  return std::find(kSecretVariables.begin(), kSecretVariables.end(), variable) != kSecretVariables.end();
}

// Marks all processes that a command starts, even if they leave its group or session: needed if the warden is killed.
std::string new_mark() {
  return fmt::format("PERFBENCH_WARD={}-{}", spec::process_token(), Clock::now().time_since_epoch().count());
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added, const std::string& mark) {
  std::vector<std::string> merged{mark};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('='));
    const bool is_outer_mark = mark.starts_with(std::string(name) + "=");
    if (is_secret(name) || is_launcher_variable(name) || is_outer_mark || added.contains(std::string(name))) continue;
    merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// nullopt when the other end closed without a message.
std::optional<WardenMessage> read_message(int fd) {
  WardenMessage message;
  ssize_t received = 0;
  do {
    received = read(fd, &message, sizeof message);
  } while (received < 0 && errno == EINTR);
  if (received != static_cast<ssize_t>(sizeof message)) return std::nullopt;
  return message;
}

// Reads a limited amount at a time: a command that prints without end would never return control.
enum class Stream { open, ended };
Stream read_available(int fd, std::string& out) {
  std::array<char, 65536> buffer;
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t received = read(fd, buffer.data(), buffer.size());
    if (received == 0) return Stream::ended;
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return Stream::open;
    const auto room = kCaptureLimitBytes - out.size();
    out.append(buffer.data(), std::min(static_cast<std::size_t>(received), room));
  }
  return Stream::open;
}

// Samples the memory of a process tree; walks the tree itself less often.
class MemoryWatch {
 public:
  explicit MemoryWatch(pid_t root) : root_(root) {}
  std::int64_t sample() {
    if (samples_++ % kSamplesPerTreeWalk == 0) tree_ = descendants(root_);
    const auto now = resident_bytes(tree_);
    peak_bytes_ = std::max(peak_bytes_, now);
    return now;
  }
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  pid_t root_;
  std::vector<pid_t> tree_;
  std::int64_t peak_bytes_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace

Process::Process(const ProcessRequest& request) : started_(Clock::now()), mark_(new_mark()) {
  if (request.command.empty()) throw LaunchError("[launch] the command is empty");
  auto arguments = request.command;
  auto environment = merged_environment(request.environment, mark_);
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  auto last_command = request.last_command;
  const auto last_pointers = pointers(last_command);
  Pipe control = make_control();
  Pipe status = make_pipe();
  Pipe output;
  Pipe error;
  if (request.output_file.empty()) {
    output = make_pipe();
    error = make_pipe();
    fcntl(output.read_end.get(), F_SETFL, O_NONBLOCK);
    fcntl(error.read_end.get(), F_SETFL, O_NONBLOCK);
  } else {
    output.write_end = open_output(request.output_file);
  }
  const int error_fd = request.output_file.empty() ? error.write_end.get() : output.write_end.get();
  const WardenSetup setup{.control_fd = control.read_end.get(),
                          .status_fd = status.write_end.get(),
                          .output_fd = output.write_end.get(),
                          .error_fd = error_fd,
                          .arguments = argument_pointers.data(),
                          .environment = environment_pointers.data(),
                          .working_dir = request.working_dir.empty() ? nullptr : request.working_dir.c_str(),
                          .largest_file_bytes = request.largest_file_bytes,
                          .last_command = last_pointers.data()};
  warden_ = fork();
  if (warden_ < 0) throw LaunchError(fmt::format("[launch] cannot fork: {}", std::strerror(errno)));
  if (warden_ == 0) run_warden(setup);
  control_ = std::move(control.write_end);
  status_ = std::move(status.read_end);
  output_ = std::move(output.read_end);
  error_ = std::move(error.read_end);
  status.write_end.close();
  const auto started = read_message(status_.get());
  if (started && started->start_error == 0) {
    command_ = started->command;
    return;
  }
  waitpid(warden_, nullptr, 0);
  const int reason = started ? started->start_error : ECHILD;
  throw LaunchError(fmt::format("[launch] cannot start '{}': {}", request.command.front(), std::strerror(reason)));
}

Process::Process(Process&& other) noexcept
    : started_(other.started_),
      mark_(std::move(other.mark_)),
      warden_(std::exchange(other.warden_, -1)),
      command_(other.command_),
      control_(std::move(other.control_)),
      status_(std::move(other.status_)),
      output_(std::move(other.output_)),
      error_(std::move(other.error_)),
      end_(std::move(other.end_)) {}

Process::~Process() {
  if (warden_ >= 0) wait_for_warden();
}

void Process::wait_for_warden() {
  control_.close();
  kill(warden_, SIGCONT);
  waitpid(warden_, nullptr, 0);
  warden_ = -1;
}

void Process::order(char what) {
  // A warden that has just ended no longer listens; it has then done what the order asks for.
  if (send(control_.get(), &what, 1, MSG_NOSIGNAL) != 1) control_.close();
  kill(warden_, SIGCONT);  // a stopped warden would not read the order
}

// For a warden that does not answer (held by a debugger, stopped again and again). The warden is killed last, because
// processes left below it would get another parent. Its end closes the status pipe.
void Process::end_without_warden() {
  kill_descendants(warden_);
  kill(warden_, SIGKILL);
}

void Process::capture_available() {
  if (output_.is_open() && read_available(output_.get(), end_.output) == Stream::ended) output_.close();
  if (error_.is_open() && read_available(error_.get(), end_.error_output) == Stream::ended) error_.close();
}

Process::Woken Process::sleep_until(Clock::time_point moment, int cancel_fd) {
  const auto left = std::chrono::ceil<milliseconds>(moment - Clock::now()).count();
  const int timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  // A closed descriptor is negative, and poll ignores it.
  std::array<pollfd, 4> watched{pollfd{status_.get(), POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0},
                                pollfd{output_.get(), POLLIN, 0}, pollfd{error_.get(), POLLIN, 0}};
  if (poll(watched.data(), watched.size(), timeout_ms) <= 0) return Woken::otherwise;
  capture_available();
  if (watched[0].revents != 0) return Woken::by_end;
  if (watched[1].revents == 0) return Woken::otherwise;
  std::array<char, 128> consumed;  // one signalfd_siginfo, or the bytes of a pipe
  return read(cancel_fd, consumed.data(), consumed.size()) > 0 ? Woken::by_cancel : Woken::otherwise;
}

ProcessEnd Process::wait(const Watch& watch) {
  const auto never = Clock::time_point::max();
  const auto end_of_time = [&] {
    if (!watch.time_limit) return never;
    return started_ + *watch.time_limit + (watch.paused ? watch.paused() : nanoseconds(0));
  };
  auto deadline = end_of_time();
  auto next_tick = watch.on_tick ? Clock::now() : never;
  auto next_sample = watch.memory_limit_bytes > 0 ? Clock::now() : never;
  MemoryWatch memory(warden_);
  if (watch.on_start) watch.on_start(warden_);
  enum class Ending { no, asked, killed } ending = Ending::no;
  const auto end_it = [&](EndCause cause, WardenOrder how) {
    if (ending == Ending::no) end_.cause = cause;
    const bool by_force = ending != Ending::no || how == WardenOrder::kill;
    ending = by_force ? Ending::killed : Ending::asked;
    order(static_cast<char>(by_force ? WardenOrder::kill : how));
    deadline = Clock::now() + (by_force ? watch.warden_patience : watch.grace);
  };
  while (true) {
    const auto woken = sleep_until(std::min({deadline, next_tick, next_sample}), watch.cancel_fd);
    if (woken == Woken::by_end) break;
    if (woken == Woken::by_cancel) {
      end_.cancel_seen = true;
      end_it(EndCause::cancelled, WardenOrder::terminate);
    }
    if (ending == Ending::no) deadline = end_of_time();
    const auto now = Clock::now();
    if (now >= deadline && ending == Ending::killed) {
      end_without_warden();
      deadline = never;
    } else if (now >= deadline) {
      end_it(EndCause::time_limit, WardenOrder::terminate);
    }
    if (now >= next_sample) {
      next_sample = now + kMemorySample;
      if (memory.sample() > watch.memory_limit_bytes) {
        end_it(EndCause::memory_limit, WardenOrder::kill);  // the command would keep growing during a grace period
        next_sample = never;
      }
    }
    if (now >= next_tick) {
      next_tick = now + kTick;
      watch.on_tick();
    }
  }
  end_.peak_resident_bytes = memory.peak_bytes();
  return finish();
}

ProcessEnd Process::finish() {
  const auto ended = read_message(status_.get());
  end_.wall_ns = std::chrono::duration_cast<nanoseconds>(Clock::now() - started_).count();
  capture_available();
  wait_for_warden();
  if (!ended) {  // The warden itself was killed, and the command with it. Processes that the command started, such as
                 // ranks, may still live.
    kill_all_with(mark_, kOrphanPatience);
    end_.signal = SIGKILL;
  } else if (WIFSIGNALED(ended->wait_status)) {
    end_.signal = WTERMSIG(ended->wait_status);
  } else {
    end_.exit_code = WEXITSTATUS(ended->wait_status);
  }
  return std::move(end_);
}

ProcessEnd run_process(const ProcessRequest& request, const Watch& watch) {
  return Process(request).wait(watch);
}

}  // namespace perfbench::harness
