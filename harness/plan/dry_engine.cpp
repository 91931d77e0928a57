#include "harness/plan/dry_engine.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include "harness/execute/process.h"
#include "harness/system/files.h"
#include "harness/system/parallel_ranges.h"
#include "workloads/spec/engine_exit.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The largest number limits the command line (relative names, far below ARG_MAX) and the size of one output file. Below
// the smallest number, starting a process takes as long as its walks.
constexpr std::size_t kFewestRunsPerProcess = 64;
constexpr std::size_t kMostRunsPerProcess = 1024;
constexpr std::size_t kMostRunsWithTensors = 256;
constexpr std::size_t kMostProcesses = 8;
constexpr std::size_t kTurns =
    4;  // processes for each worker, if there are enough runs: workers then end at about the same time
constexpr std::size_t kLongestWords = 500;  // of the output of an engine that failed
constexpr int kInputError = static_cast<int>(spec::EngineExit::input_error);

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "[plan] cannot write " + file.string());
}

class DrySession {
 public:
  DrySession(const EngineProgram& engine, const std::vector<const spec::RunSpec*>& runs,
             std::optional<std::size_t> most_groups, const std::function<void(DryAnswer)>& take,
             const DryLimits& limits)
      : engine_{fs::absolute(engine.file), engine.libraries},
        runs_(runs),
        most_groups_(most_groups),
        take_(take),
        limits_(limits),
        processes_(std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), kMostProcesses)),
        runs_per_process_(std::clamp(runs.size() / (kTurns * processes_), kFewestRunsPerProcess,
                                     most_groups_ ? kMostRunsPerProcess : kMostRunsWithTensors)),
        answered_(runs.size()) {}

  // Only one reader gets a byte of a descriptor, so this thread reads `cancel_fd` and tells every worker.
  void ask_all(int cancel_fd) {
    const std::size_t chunks = (runs_.size() + runs_per_process_ - 1) / runs_per_process_;
    const std::size_t processes = std::min(chunks, processes_);
    {
      std::vector<Event> cancel(processes);
      Event done;
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < processes; ++i) {
        workers.emplace_back([this, &done, i, fd = cancel[i].fd()] {
          work(i, fd);
          done.add();
        });
      }
      for (std::uint64_t ended = 0; ended < processes;) {
        std::array<pollfd, 2> watched{pollfd{done.fd(), POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0}};
        if (poll(watched.data(), watched.size(), -1) <= 0) continue;
        if (watched[0].revents != 0) ended += done.take();
        if (watched[1].revents == 0) continue;
        std::array<char, 128> consumed;  // one signalfd_siginfo, or the bytes of a pipe
        if (read(cancel_fd, consumed.data(), consumed.size()) <= 0) continue;
        cancelled_ = true;
        for (auto& event : cancel) event.add();
      }
    }
    if (cancelled_) throw Cancelled("[plan] cancelled; nothing was run");
    if (failure_) std::rethrow_exception(failure_);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!answered_[i]) take({i, spec::DryCounts(), "not counted because of another cell: " + hopeless_});
    }
  }

 private:
  void work(std::size_t worker, int cancel_fd) {
    try {
      while (!cancelled_) {
        const std::size_t first = next_.fetch_add(runs_per_process_);
        if (first >= runs_.size()) return;
        ask_range(worker, first, std::min(first + runs_per_process_, runs_.size()), cancel_fd);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = runs_.size();
    }
  }

  // After a crash, the run that caused it is reported as failed, and the remaining runs are asked again. The same is
  // done after a limit, as long as each process returned at least one report.
  void ask_range(std::size_t worker, std::size_t first, std::size_t end, int cancel_fd) {
    while (first < end) {
      const auto output = folder_.path() / ("output." + std::to_string(worker));
      const bool in_lines = takes_lines_;
      const ProcessEnd ended = run_process(
          in_lines ? request(worker, first, end, output) : request_of_older_engine(worker, first, end, output),
          {.time_limit = limits_.time, .cancel_fd = cancel_fd});
      if (ended.cause == EndCause::cancelled) return;
      std::string last_words;
      const auto answered = take_reports(output, first, end, last_words);
      fs::remove_all(output);
      if (answered == end) return;
      const bool limited = ended.cause == EndCause::time_limit || ended.signal == SIGXFSZ;
      const bool progressed = answered > first;
      first = answered;
      if (limited && progressed) continue;
      if (ended.exit_code == kInputError && in_lines) {
        takes_lines_ = false;
        continue;
      }
      const auto failure = describe(ended, last_words);
      take({first++, spec::DryCounts(), failure});
      if (limited) return give_up(failure);
    }
  }

  // An engine that hangs or prints without end would do so for every run.
  void give_up(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (hopeless_.empty()) hopeless_ = why;
    next_ = runs_.size();
  }

  // Writes a single file: making one for each of a hundred thousand runs takes longer than filling them.
  ProcessRequest request(std::size_t worker, std::size_t first, std::size_t end, const fs::path& output) const {
    std::string text;
    for (std::size_t i = first; i < end; ++i) text += spec::canonical_json(*runs_[i]) + "\n";
    const auto file = "runs." + std::to_string(worker);
    write_text(folder_.path() / file, text);
    std::vector<std::string> arguments{"dry", "--lines"};
    if (most_groups_) arguments.insert(arguments.end(), {"--largest", std::to_string(*most_groups_)});
    arguments.push_back(file);
    return request(arguments, output);
  }

  // For an engine from before --lines: uses options that every engine has, with which it may list every tensor.
  ProcessRequest request_of_older_engine(std::size_t worker, std::size_t first, std::size_t end,
                                         const fs::path& output) const {
    std::vector<std::string> arguments{"dry"};
    for (std::size_t i = first; i < end; ++i) {
      arguments.push_back(fmt::format("{}.{}.json", worker, i - first));
      write_text(folder_.path() / arguments.back(), spec::canonical_json(*runs_[i]));
    }
    return request(arguments, output);
  }

  ProcessRequest request(const std::vector<std::string>& arguments, const fs::path& output) const {
    auto request = engine_.request(arguments);
    request.working_dir = folder_.path();
    request.output_file = output;
    request.largest_file_bytes = limits_.output_bytes;
    return request;
  }

  // The file holds standard output and error; reports are the lines that begin with '{'. Returns the index of the first
  // run without a report.
  std::size_t take_reports(const fs::path& output, std::size_t first, std::size_t end, std::string& last_words) {
    std::string text;
    try {
      text = spec::read_regular_file(output, limits_.output_bytes).value_or("");
    } catch (const spec::FileError& e) {
      last_words = e.what();
    }
    for (std::size_t begin = 0; begin < text.size();) {
      const auto newline = std::min(text.find('\n', begin), text.size());
      const auto line = std::string_view(text).substr(begin, newline - begin);
      begin = newline + 1;
      // A report that a limit cut off does not count.
      if (!line.starts_with('{') || first == end || begin > text.size()) {
        last_words = line.substr(0, kLongestWords);
        continue;
      }
      try {
        take({first, read_counts(line)});
      } catch (const spec::SpecError& e) {
        take(
            {first, spec::DryCounts(),
             fmt::format("the engine's report cannot be read: {} {}", e.pointer(), e.what()).substr(0, kLongestWords)});
      }
      ++first;
    }
    return first;
  }

  spec::DryCounts read_counts(std::string_view line) const {
    auto counts = spec::parse_dry_counts(line);
    if (!most_groups_) {
      counts.largest = spec::group_tensors(counts.live_at_peak);
    } else if (!counts.live_at_peak.empty()) {
      return spec::summed_up(std::move(counts), *most_groups_);
    }
    return counts;
  }

  std::string describe(const ProcessEnd& ended, const std::string& last_words) const {
    const std::string words = last_words.empty() ? "" : ": " + last_words;
    if (ended.cause == EndCause::time_limit) {
      return fmt::format("the engine gave no count within {:g} s{}",
                         std::chrono::duration<double>(limits_.time).count(), words);
    }
    if (ended.signal == SIGXFSZ) {
      return fmt::format("the engine printed more than {} bytes and no count{}", limits_.output_bytes, words);
    }
    if (ended.signal != 0) return fmt::format("the engine was ended by signal {}{}", ended.signal, words);
    return fmt::format("the engine ended with code {} and without a report{}", ended.exit_code, words);
  }

  void take(DryAnswer answer) {
    const std::lock_guard lock(mutex_);
    answered_[answer.index] = true;
    take_(std::move(answer));
  }

  const EngineProgram engine_;
  const std::vector<const spec::RunSpec*>& runs_;
  const std::optional<std::size_t> most_groups_;
  std::atomic<bool> takes_lines_ = true;
  const std::function<void(DryAnswer)>& take_;
  const DryLimits limits_;
  const std::size_t processes_;  // largest number at once
  const std::size_t runs_per_process_;
  std::vector<bool> answered_;  // by run
  std::string hopeless_;        // why no more questions are asked
  TemporaryFolder folder_{"perfbench-plan"};
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void ask_dry_engine(const EngineProgram& engine, const std::vector<const spec::RunSpec*>& runs,
                    std::optional<std::size_t> most_groups, const std::function<void(DryAnswer)>& take, int cancel_fd,
                    const DryLimits& limits) {
  if (!runs.empty()) DrySession(engine, runs, most_groups, take, limits).ask_all(cancel_fd);
}

}  // namespace perfbench::harness
