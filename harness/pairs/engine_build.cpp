#include "harness/pairs/engine_build.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "harness/execute/classify.h"
#include "harness/execute/process.h"
#include "harness/system/files.h"
#include "harness/system/parallel_ranges.h"
#include "harness/system/run_id.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kTailLines = 20;
constexpr int kLockPollMs = 500;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string compiler_version() {
  const auto named = variable("CXX");
  try {
    const auto end = run_process({.command = {named.empty() ? "c++" : named, "--version"}});
    return end.output.substr(0, end.output.find('\n'));
  } catch (const LaunchError&) {
    return "";  // the configure step will report it
  }
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line;
  }
  return "";
}

std::string settings_key(const BuildSettings& settings) {
  std::string text = compiler_version() + "\n" + processor() + "\n";
  for (const char* name : {"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"}) text += variable(name) + "\n";
  for (const auto& option : settings.cmake_options) text += option + "\n";
  constexpr std::size_t kDigits = 12;
  return sha256_hex(text).substr(0, kDigits);
}

fs::path kept_folder(const std::string& commit, const BuildSettings& settings) {
  return fs::absolute(settings.cache) / (commit + "-" + settings_key(settings));
}

fs::path engine_in(const fs::path& kept) {
  return kept / "bin" / "perfbench-engine";
}

bool cancelled(int cancel_fd, int wait_ms) {
  if (cancel_fd < 0) return poll(nullptr, 0, wait_ms) != 0;
  pollfd watched{cancel_fd, POLLIN, 0};
  return poll(&watched, 1, wait_ms) == 1;
}

class BuildLock {
 public:
  BuildLock(const fs::path& file, const std::string& what, const BuildSettings& settings)
      : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (!fd_.is_open())
      throw BuildError(fmt::format("[build] cannot write {}: {}", file.string(), std::strerror(errno)));
    bool said = false;
    while (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (!said && settings.say) settings.say("waiting for another build of " + what);
      said = true;
      if (cancelled(settings.cancel_fd, kLockPollMs)) throw Cancelled("[build] cancelled");
    }
  }

 private:
  FileDescriptor fd_;  // closing it releases the lock
};

class EngineBuild {
 public:
  EngineBuild(const GitHistory& history, std::string commit, const BuildSettings& settings)
      : history_(history),
        commit_(std::move(commit)),
        settings_(settings),
        kept_(kept_folder(commit_, settings)),
        source_(kept_.string() + ".source"),
        log_(kept_.string() + ".log") {}

  fs::path run() {
    fs::create_directories(kept_.parent_path());
    const auto engine = engine_in(kept_);
    if (fs::exists(engine)) return engine;
    const BuildLock lock(kept_.string() + ".lock", short_commit(commit_), settings_);
    if (fs::exists(engine)) return engine;  // the previous owner of the lock built it
    if (settings_.say) settings_.say(fmt::format("building {} {}", short_commit(commit_), history_.subject(commit_)));
    build();
    keep(engine);
    return engine;
  }

 private:
  void build() {
    fs::remove_all(source_);  // left by a build that was killed
    fs::remove(log_);
    try {
      history_.check_out(commit_, source_);
    } catch (const std::runtime_error& e) {
      fail(e.what());
    }
    std::vector<std::string> configure{"cmake", "--preset", "engine"};
    configure.insert(configure.end(), settings_.cmake_options.begin(), settings_.cmake_options.end());
    step(std::move(configure));
    step({"cmake", "--build", "--preset", "engine", "--target", "perfbench-engine"});
  }

  void step(std::vector<std::string> command) {
    const auto shown = command[0] + " " + command[1];
    // Trees of different commits lie in different folders, which must not matter to a compiler cache.
    const std::map<std::string, std::string> environment{{"CCACHE_BASEDIR", source_.string()},
                                                         {"CCACHE_NOHASHDIR", "1"}};
    ProcessEnd end;
    try {
      end = run_process(
          {.command = std::move(command), .working_dir = source_, .environment = environment, .output_file = log_},
          {.cancel_fd = settings_.cancel_fd});
    } catch (const LaunchError& e) {
      fail(e.what());
    }
    if (end.cause == EndCause::cancelled) throw Cancelled("[build] cancelled");
    if (!end.succeeded()) fail(shown + " failed");
  }

  [[noreturn]] void fail(const std::string& why) {
    fs::remove_all(source_);
    std::string tail;
    for (const auto& line : log_tail(log_, kTailLines)) tail += "\n  " + line;
    throw BuildError(fmt::format("[build] commit {} cannot be built: {}; log: {}{}", short_commit(commit_), why,
                                 log_.string(), tail));
  }

  // Atomic, so that an existing folder is always complete.
  void keep(const fs::path& engine) {
    const auto built = source_ / "build" / "engine" / "bin" / "perfbench-engine";
    if (!fs::exists(built)) fail("the build did not make " + fs::relative(built, source_).string());
    const fs::path fresh(kept_.string() + ".new");
    fs::remove_all(fresh);
    fs::create_directories(fresh / "bin");
    fs::copy_file(built, fresh / "bin" / engine.filename());
    fs::rename(fresh, kept_);
    fs::remove_all(source_);
  }

  const GitHistory& history_;
  const std::string commit_;
  const BuildSettings& settings_;
  const fs::path kept_;
  const fs::path source_;
  const fs::path log_;
};

}  // namespace

fs::path default_build_cache() {
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "perfbench" / "builds";
  if (const fs::path home = variable("HOME"); home.is_absolute()) return home / ".cache" / "perfbench" / "builds";
  return folder_of_temporary_files() / "perfbench" / "builds";
}

std::optional<fs::path> built_engine(const std::string& commit, const BuildSettings& settings) {
  const auto engine = engine_in(kept_folder(commit, settings));
  std::error_code ignored;
  return fs::exists(engine, ignored) ? std::optional(engine) : std::nullopt;
}

fs::path build_engine(const GitHistory& history, const std::string& commit, const BuildSettings& settings) {
  return EngineBuild(history, commit, settings).run();
}

}  // namespace perfbench::harness
