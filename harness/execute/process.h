// Runs a command without a shell, in a process group of its own. A warden (warden.h) ends everything that the command
// started when the command ends or the harness dies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/system/files.h"

namespace perfbench::harness {

// The command could not be started: "[launch] cannot start 'x': No such file or directory".
class LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ProcessRequest {
  std::vector<std::string> command;        // command[0] is searched in PATH unless it has a slash
  std::filesystem::path working_dir = {};  // empty: the harness's
  // Variables added to the harness's environment, or replacing some of it. The command does not inherit the harness's
  // secrets or an outer launcher's variables about the harness's rank (environment_variables.h).
  std::map<std::string, std::string> environment = {};
  std::filesystem::path output_file = {};  // receives standard output and error, appended; empty: both are captured
  // Largest size of a file that the command or its children may write; SIGXFSZ ends a process that exceeds it. 0: the
  // limit of the harness.
  std::int64_t largest_file_bytes = 0;
  // Started when everything has ended, even if the harness was killed; it has the command's environment and a minute of
  // time. It ends what the command left with a daemon, such as a container. Its outcome is not looked at.
  std::vector<std::string> last_command = {};
};

enum class EndCause {
  exited,        // by itself, or by a signal from another process
  time_limit,    // the harness ended it
  memory_limit,  // the harness ended it
  cancelled,     // the harness ended it
};

struct Watch {
  std::optional<std::chrono::nanoseconds> time_limit = {};
  // Returns the time so far that does not count against the time limit. Empty: all time counts.
  std::function<std::chrono::nanoseconds()> paused = {};
  std::int64_t memory_limit_bytes =
      0;  // limit of the resident bytes of all its processes together; 0: memory is not watched
  std::chrono::nanoseconds grace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL
  // How long the warden may take for a kill before the harness ends everything by itself. Longer than the warden's own
  // patience with a process that is stuck in the kernel.
  std::chrono::nanoseconds warden_patience = std::chrono::seconds(15);
  // The command is ended when a byte can be read from this descriptor; a second byte skips the grace period. May be a
  // signalfd.
  int cancel_fd = -1;
  std::function<void()> on_tick = {};  // called about four times a second
  // Called once with the process below which all processes of the command run (process_tree.h).
  std::function<void(pid_t)> on_start = {};
};

struct ProcessEnd {
  EndCause cause = EndCause::exited;
  bool cancel_seen = false;  // something was read from cancel_fd, even if another cause came first
  int exit_code = 0;
  int signal = 0;  // the signal that ended the command, 0 if none did
  std::int64_t wall_ns = 0;
  std::int64_t peak_resident_bytes = 0;  // sampled; 0 unless memory was watched
  std::string output;                    // captured standard output, at most kCaptureLimitBytes
  std::string error_output;              // captured standard error, the same

  bool succeeded() const { return cause == EndCause::exited && signal == 0 && exit_code == 0; }
};

inline constexpr std::size_t kCaptureLimitBytes = std::size_t{64} << 20;

class Process {
 public:
  // Throws LaunchError.
  explicit Process(const ProcessRequest& request);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills the processes that still run.
  ~Process();

  pid_t pid() const { return command_; }
  // Waits for the end of the command and of everything below it. Call it once.
  ProcessEnd wait(const Watch& watch);

 private:
  enum class Woken { by_end, by_cancel, otherwise };
  Woken sleep_until(std::chrono::steady_clock::time_point moment, int cancel_fd);
  void order(char what);
  void end_without_warden();
  void wait_for_warden();
  void capture_available();
  ProcessEnd finish();

  std::chrono::steady_clock::time_point started_;
  std::string mark_;  // "NAME=value", in the environment of all processes of the command
  pid_t warden_ = -1;
  pid_t command_ = -1;
  FileDescriptor control_;
  FileDescriptor status_;
  FileDescriptor output_;
  FileDescriptor error_;
  ProcessEnd end_;
};

// Process(request).wait(watch). Throws LaunchError.
ProcessEnd run_process(const ProcessRequest& request, const Watch& watch = {});

}  // namespace perfbench::harness
