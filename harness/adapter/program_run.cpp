#include "harness/adapter/program_run.h"

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
#include <cstring>

#include "harness/adapter/child_command.h"
#include "harness/adapter/environment_facts.h"
#include "harness/adapter/metric_files.h"
#include "harness/adapter/output_readers.h"
#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/process_tree.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

extern char** environ;

namespace perfbench::adapter {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kMemorySample = milliseconds(100);
constexpr int kSamplesPerTreeWalk = 10;  // the set of processes rarely changes
constexpr auto kGrace =
    std::chrono::seconds(3);  // shorter than the harness's own grace period between SIGTERM and SIGKILL
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Receives signals that end the adapter, and SIGCHLD, as messages.
class SignalMessages {
 public:
  SignalMessages() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, number);
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = harness::FileDescriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  SignalMessages(const SignalMessages&) = delete;
  SignalMessages& operator=(const SignalMessages&) = delete;
  ~SignalMessages() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  // The number of signals that asked the adapter to end.
  int take() const {
    int asks = 0;
    for (signalfd_siginfo message; read(fd_.get(), &message, sizeof message) == sizeof message;) {
      if (message.ssi_signo != SIGCHLD) ++asks;
    }
    return asks;
  }

 private:
  sigset_t before_{};
  harness::FileDescriptor fd_;
};

// Waits for the program and reads its output.
class ProgramWatch {
 public:
  ProgramWatch(StartedChild child, const SignalMessages& signals, OutputReaders& readers, ProgramEnd& end,
               bool in_container)
      : child_(std::move(child)),
        signals_(signals),
        readers_(readers),
        end_(end),
        in_container_(in_container),
        buffer_(kReadBytes, '\0') {}

  // Returns the time at which the program had ended.
  std::int64_t run() {
    auto next_sample = Clock::now();
    while (!ended_) {
      if (Clock::now() >= next_sample) {
        sample_memory();
        next_sample = Clock::now() + kMemorySample;
      }
      wait(next_sample);
      read_available();
      reap();
    }
    const auto ended_ns = monotonic_ns();
    read_available();
    end_leftovers();
    read_available();
    rusage children{};
    // Memory of the largest child: for a run so short that no sample was taken.
    if (!in_container_ && getrusage(RUSAGE_CHILDREN, &children) == 0) {
      end_.resident_bytes = std::max<std::int64_t>(end_.resident_bytes, std::int64_t{1024} * children.ru_maxrss);
    }
    return ended_ns;
  }

 private:
  void sample_memory() {
    if (samples_++ % kSamplesPerTreeWalk == 0) {
      tree_ = harness::descendants(getpid());
      // The runtime's client takes tens of megabytes that are not the program's.
      if (in_container_) std::erase_if(tree_, [](pid_t pid) { return !harness::has_own_process_ids(pid); });
    }
    end_.resident_bytes = std::max(end_.resident_bytes, harness::resident_bytes(tree_));
  }

  void wait(Clock::time_point until) {
    if (kill_at_) until = std::min(until, *kill_at_);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    std::array<pollfd, 2> watched{pollfd{signals_.fd(), POLLIN, 0}, pollfd{child_.output.get(), POLLIN, 0}};
    if (!child_.output.is_open()) watched[1].fd = -1;
    poll(watched.data(), watched.size(), static_cast<int>(std::max<std::int64_t>(0, left)));
    if (const int asks = signals_.take(); asks > 0) {
      end_.stopped = true;
      kill(-child_.pid, SIGTERM);
      const bool again = kill_at_ || asks > 1;  // a second request means that the user does not want to wait
      kill_at_ = again ? Clock::now() : Clock::now() + kGrace;
    }
    if (kill_at_ && Clock::now() >= *kill_at_) harness::kill_descendants(getpid());
  }

  // Reads the available output, but at most a few buffers, so that a program that prints without end leaves time for
  // other work.
  void read_available() {
    constexpr int kReads = 16;
    for (int i = 0; i < kReads && child_.output.is_open(); ++i) {
      const auto size = read(child_.output.get(), buffer_.data(), buffer_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return;
      if (size == 0) return child_.output.close();
      readers_.take(std::string_view(buffer_).substr(0, static_cast<std::size_t>(size)), monotonic_ns());
    }
  }

  // The adapter adopts orphans of the program, so they are its children.
  void reap() {
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      if (pid != child_.pid) continue;
      ended_ = true;
      if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
      if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    }
  }

  void end_leftovers() {
    // A helper process of Python's multiprocessing ends by itself as soon as its parent has ended.
    constexpr int kLooks = 20;
    std::vector<pid_t> left;
    for (int look = 0; look < kLooks; ++look) {
      int status = 0;
      while (waitpid(-1, &status, WNOHANG) > 0) continue;
      left = harness::descendants(getpid());
      if (left.empty()) return;
      poll(nullptr, 0, 5);
    }
    // Podman itself leaves processes: its monitor, and for users without root one that holds their namespaces.
    if (!in_container_) end_.children_left = static_cast<std::int64_t>(left.size());
    harness::kill_descendants(getpid());
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
  }

  StartedChild child_;
  const SignalMessages& signals_;
  OutputReaders& readers_;
  ProgramEnd& end_;
  const bool in_container_;
  std::string buffer_;
  std::vector<pid_t> tree_;
  std::int64_t samples_ = 0;
  bool ended_ = false;
  std::optional<Clock::time_point> kill_at_;
};

std::vector<std::string> names_of_environment() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

spec::ProgramSpec read_program(const fs::path& dir) {
  const auto text = spec::read_regular_file(dir / spec::kProgramFile, spec::kLargestDocumentBytes);
  if (!text) throw spec::SpecError("", "there is no " + (dir / spec::kProgramFile).string());
  return spec::parse_program_spec(*text);
}

// The place of a metric file: a relative path begins at the program's working directory.
struct Expected {
  spec::MetricFile file;
  fs::path path;
  std::optional<FileState> before;
};

std::vector<Expected> expected_files(const spec::ProgramSpec& program, const fs::path& dir, const fs::path& workdir) {
  std::vector<Expected> out;
  for (const auto& file : program.files) {
    readers::reader_info(file.format);  // finds an unknown reader before hours of training
    const auto path = workdir / file.path;
    const auto found = find_metric_file(path);
    out.push_back({file, path, found ? file_state(*found) : std::nullopt});
  }
  out.push_back({{(dir / spec::kHookFile).string(), "hook"}, dir / spec::kHookFile, std::nullopt});
  return out;
}

// Reads the metric files: their values have more digits than the log's.
void take_files(const spec::ProgramSpec& program, const fs::path& dir, const std::vector<Expected>& files,
                SampleFile& samples, ProgramEnd& end) {
  std::size_t number = 0;
  for (const auto& expected : files) {
    ++number;
    const bool is_hook = expected.file.format == "hook";
    try {
      const auto found = find_metric_file(expected.path);
      if (!found && is_hook) continue;
      if (!found) {
        end.missing_files.push_back("it ended well, but wrote no " + expected.path.string() +
                                    ": does the command tell it to write there?");
        continue;
      }
      if (expected.before && file_state(*found) == expected.before) {
        end.missing_files.push_back(found->string() +
                                    " is older than the run: the program wrote to another place; remove the old file");
        continue;
      }
      const auto read = read_metric_file(*found, expected.file.format, {program.metrics, program.work});
      samples.replace_metrics_of(read.samples);
      end.notes.insert(end.notes.end(), read.notes.begin(), read.notes.end());
      if (is_hook) continue;
      if (!copy_metric_file(*found, dir / spec::kCopiesFolder, number)) {
        end.notes.push_back("of " + found->string() + " the first 256 MiB are copied");
      }
    } catch (const spec::FileError& e) {
      end.missing_files.emplace_back(e.what());
    } catch (const readers::ReaderError& e) {
      end.missing_files.emplace_back(e.what());
    }
  }
}

spec::ProgramResult finish_result(const spec::ProgramSpec& program, const fs::path& dir, const SampleFile& samples,
                                  ProgramEnd& end) {
  end.samples = static_cast<std::int64_t>(samples.samples().size());
  if (samples.dropped() > 0) {
    end.notes.push_back(std::to_string(samples.dropped()) + " samples after the first " +
                        std::to_string(SampleFile::kMostSamples) + " were left out");
  }
  const auto result = judge_program(program, end, readers::settle(samples.samples(), readers::settle_rules(program)));
  harness::write_atomically(dir / harness::kResultFile, spec::to_json_line(result) + "\n");
  return result;
}

spec::ProgramResult refuse(const fs::path& dir, const std::string& reason) {
  const spec::ProgramResult result{.status = spec::ProgramStatus::input_error, .reason = reason};
  harness::write_atomically(dir / harness::kResultFile, spec::to_json_line(result) + "\n");
  return result;
}

ChildCommand child_of(const spec::ProgramSpec& program, const RunRequest& request, const fs::path& dir,
                      const fs::path& workdir) {
  ChildCommand child{program.command, program.env, workdir};
  child.environment.try_emplace(spec::kUnbufferedVariable, "1");
  child.environment.try_emplace(spec::kSamplesVariable, (dir / spec::kHookFile).string());
  if (!request.turns.empty()) child.environment[spec::kTurnsVariable] = fs::absolute(request.turns).string();
  return child;
}

spec::ProgramResult run_checked(const spec::ProgramSpec& program, const RunRequest& request) {
  const auto dir = fs::absolute(request.dir);
  const auto workdir = program.workdir.empty() ? dir : dir / program.workdir;
  const auto problem = problem_before_start(program, !request.turns.empty(), names_of_environment());
  if (!problem.empty()) return refuse(dir, problem);
  if (!fs::is_directory(workdir)) {
    return refuse(dir, "the working directory " + workdir.string() + " does not exist; create it, or change `workdir`");
  }
  const auto files = expected_files(program, dir, workdir);
  std::error_code none;
  fs::remove(dir / spec::kHookFile, none);
  harness::write_atomically(dir / harness::kEnvironmentFile, spec::to_json_line(environment_facts(program)) + "\n");
  SampleFile samples(dir / spec::kSamplesFile);
  OutputReaders readers(program, dir / spec::kProgramLogFile, secret_values(environ), samples);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const SignalMessages signals;
  ProgramEnd end;
  const auto started_ns = monotonic_ns();
  auto child = start_child(child_of(program, request, dir, workdir));
  if (child.error != 0) {
    waitpid(child.pid, nullptr, 0);
    return refuse(dir, start_problem(program.command.front(), workdir.string(), child.error));
  }
  const bool in_container = !program.container.image.empty();
  end.wall_ns = ProgramWatch(std::move(child), signals, readers, end, in_container).run() - started_ns;
  readers.finish(end);
  if (!samples.samples().empty() && samples.samples().front().at_ns) {
    end.startup_ns = std::max<std::int64_t>(0, *samples.samples().front().at_ns - started_ns);
  }
  take_files(program, dir, files, samples, end);
  return finish_result(program, dir, samples, end);
}

}  // namespace

spec::ProgramResult run_program(const RunRequest& request) {
  try {
    return run_checked(read_program(request.dir), request);
  } catch (const spec::SpecError& e) {
    return refuse(request.dir, std::string(spec::kProgramFile) + ": " +
                                   (e.pointer().empty() ? "" : "at " + e.pointer() + ": ") + e.what());
  } catch (const spec::FileError& e) {
    return refuse(request.dir, e.what());
  } catch (const readers::ReaderError& e) {
    return refuse(request.dir, e.what());
  }
}

spec::ProgramResult adapt_log(const fs::path& log, const fs::path& dir) {
  constexpr std::size_t kChunkOfLog = std::size_t{1} << 20;
  const auto program = read_program(dir);
  auto file = spec::RegularFile::open(log);
  if (!file) throw spec::FileError(log, "does not exist");
  SampleFile samples(dir / spec::kSamplesFile);
  OutputReaders readers(program, dir / spec::kProgramLogFile, {}, samples);
  std::string chunk(kChunkOfLog, '\0');
  std::int64_t at = 0;
  while (const auto size = file->read_at(at, chunk.data(), chunk.size())) {
    readers.take(std::string_view(chunk).substr(0, size), std::nullopt);
    at += static_cast<std::int64_t>(size);
  }
  ProgramEnd end;
  end.exit_code = static_cast<int>(program.finished.exit);  // a log does not contain it
  readers.finish(end);
  return finish_result(program, dir, samples, end);
}

}  // namespace perfbench::adapter
