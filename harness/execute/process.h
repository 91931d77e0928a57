// Runs a command without a shell, in a process group of its own, under a warden (warden.h) that ends everything the
// command started when the command has ended or the harness dies.
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
  std::filesystem::path working_dir = {};  // empty: that of the harness
  // Added to the harness's own, or replacing. Of that go its secrets (environment_variables.h) and what an outer
  // launcher says of the harness's rank (environment_variables.h).
  std::map<std::string, std::string> environment = {};
  std::filesystem::path output_file = {};  // gets standard output and error, appended; empty: both are captured
  // Of any one file that the command or its children write; beyond it SIGXFSZ ends them. 0: as the harness may.
  std::int64_t largest_file_bytes = 0;
};

enum class EndCause {
  exited,        // by itself, or by a signal from elsewhere
  time_limit,    // ended by us
  memory_limit,  // ended by us
  cancelled,     // ended by us
};

struct Watch {
  std::optional<std::chrono::nanoseconds> time_limit = {};
  // So far, of what does not count against the time limit; asked whenever that has to be known. Empty: nothing.
  std::function<std::chrono::nanoseconds()> paused = {};
  std::int64_t memory_limit_bytes = 0;  // resident bytes of all its processes together, 0: not watched
  std::chrono::nanoseconds grace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL
  // What the warden may take for a kill before the harness ends everything by itself. More than the warden's own
  // patience with a process that is stuck in the kernel.
  std::chrono::nanoseconds warden_patience = std::chrono::seconds(15);
  // When a byte can be read from it the command is ended; a second one skips the grace. A signalfd serves.
  int cancel_fd = -1;
  std::function<void()> on_tick = {};  // called about four times a second
  // Called once with the process below which everything runs that the command starts (process_tree.h).
  std::function<void(pid_t)> on_start = {};
};

struct ProcessEnd {
  EndCause cause = EndCause::exited;
  bool cancel_seen = false;  // something was read from cancel_fd, though another cause may have come first
  int exit_code = 0;
  int signal = 0;  // that ended the command, 0 for none
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
  // Kills what still runs.
  ~Process();

  pid_t pid() const { return command_; }
  // Waits for the end of the command and of everything below it. To be called once.
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
  std::string mark_;  // "NAME=value", in the environment of all that the command starts
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
