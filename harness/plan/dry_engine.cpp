#include "harness/plan/dry_engine.h"

#include <fmt/core.h>
#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>

#include "harness/launch/process.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "perfbench-plan-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "[plan] cannot make a folder " + pattern);
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Bounds the command line (relative names, far below ARG_MAX) and what one output file holds.
constexpr std::size_t kRunsPerProcess = 64;
constexpr auto kTimeLimit = std::chrono::minutes(2);

std::string run_file(std::size_t index) {
  return std::to_string(index) + ".json";
}

class DrySession {
 public:
  DrySession(const fs::path& engine, const std::vector<const spec::RunSpec*>& runs,
             const std::function<void(DryAnswer)>& take)
      : engine_(fs::absolute(engine)), runs_(runs), take_(take) {}

  void ask_all() {
    const std::size_t chunks = (runs_.size() + kRunsPerProcess - 1) / kRunsPerProcess;
    const std::size_t processes = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 2);
    if (chunks <= 1 || processes == 1) {
      work();
    } else {
      std::jthread second([this] { work(); });
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    try {
      while (true) {
        const std::size_t first = next_.fetch_add(kRunsPerProcess);
        if (first >= runs_.size()) return;
        ask_range(first, std::min(first + kRunsPerProcess, runs_.size()));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = runs_.size();
    }
  }

  // After a crash the run it crashed on is reported, and the rest asked again.
  void ask_range(std::size_t first, std::size_t end) {
    while (first < end) {
      const auto output = folder_.path() / ("output." + std::to_string(first));
      const ProcessEnd ended = run_process(request(first, end, output), {.time_limit = kTimeLimit});
      std::string last_words;
      first = take_reports(output, first, end, last_words);
      fs::remove(output);
      if (first == end) return;
      take({first, {}, describe(ended, last_words)});
      ++first;
    }
  }

  ProcessRequest request(std::size_t first, std::size_t end, const fs::path& output) const {
    ProcessRequest request;
    request.command = {engine_.string(), "dry"};
    for (std::size_t i = first; i < end; ++i) {
      std::ofstream(folder_.path() / run_file(i)) << spec::canonical_json(*runs_[i]);
      request.command.push_back(run_file(i));
    }
    request.working_dir = folder_.path();
    request.output_file = output;
    return request;
  }

  // The file holds standard output and error: reports are the lines that begin with '{'. Returns the index of the first
  // run without a report.
  std::size_t take_reports(const fs::path& output, std::size_t first, std::size_t end, std::string& last_words) {
    std::ifstream in(output);
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with('{') || first == end) {
        last_words = line;
        continue;
      }
      try {
        take({first, spec::parse_dry_report(line)});
      } catch (const spec::SpecError& e) {
        take({first, {}, fmt::format("the engine's report cannot be read: {} {}", e.pointer(), e.what())});
      }
      ++first;
    }
    return first;
  }

  static std::string describe(const ProcessEnd& ended, const std::string& last_words) {
    const std::string words = last_words.empty() ? "" : ": " + last_words;
    if (ended.cause == EndCause::time_limit) return "the engine gave no count in two minutes" + words;
    if (ended.signal != 0) return fmt::format("the engine was ended by signal {}{}", ended.signal, words);
    return fmt::format("the engine ended with code {} and without a report{}", ended.exit_code, words);
  }

  void take(DryAnswer answer) {
    const std::lock_guard lock(mutex_);
    take_(std::move(answer));
  }

  const fs::path engine_;
  const std::vector<const spec::RunSpec*>& runs_;
  const std::function<void(DryAnswer)>& take_;
  TemporaryFolder folder_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void ask_dry_engine(const fs::path& engine, const std::vector<const spec::RunSpec*>& runs,
                    const std::function<void(DryAnswer)>& take) {
  if (!runs.empty()) DrySession(engine, runs, take).ask_all();
}

}  // namespace perfbench::harness
