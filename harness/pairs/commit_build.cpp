#include "harness/pairs/commit_build.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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
constexpr std::chrono::hours kLongestCommand{2};  // a build that hangs must not stop a night for ever
constexpr std::size_t kTreesKept = 20;
constexpr const char* kTree = ".tree";
constexpr const char* kBuilt = ".built";
constexpr const char* kLog = ".log";

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

// Covers everything outside the commit that changes the result of its build.
std::string key_of(const std::vector<std::string>& words) {
  std::string text = compiler_version() + "\n" + processor() + "\n";
  for (const char* name : {"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"}) text += variable(name) + "\n";
  for (const auto& word : words) text += word + "\n";
  constexpr std::size_t kDigits = 12;
  return sha256_hex(text).substr(0, kDigits);
}

fs::path kept_at(const std::string& commit, const std::string& key, const BuildSettings& settings) {
  return fs::absolute(settings.cache) / (commit + "-" + key);
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

class CommitBuild {
 public:
  CommitBuild(const GitHistory& history, const std::string& commit, fs::path kept, fs::path tree,
              const BuildSettings& settings)
      : history_(history),
        commit_(commit),
        settings_(settings),
        kept_(std::move(kept)),
        tree_(std::move(tree)),
        log_(kept_.string() + kLog) {}

  // Runs the commands in a fresh tree, and then `keep`, unless `done` exists.
  template <class Keep>
  void run(const fs::path& done, const BuildCommands& commands, const Keep& keep) {
    fs::create_directories(kept_.parent_path());
    if (fs::exists(done)) return;
    const BuildLock lock(kept_.string() + ".lock", short_commit(commit_), settings_);
    if (fs::exists(done)) return;  // the previous owner of the lock built it
    if (settings_.say) settings_.say(fmt::format("building {} {}", short_commit(commit_), history_.subject(commit_)));
    fs::remove_all(tree_);  // left by a build that was killed
    fs::remove(log_);
    try {
      history_.check_out(commit_, tree_);
    } catch (const std::runtime_error& e) {
      fail(e.what());
    }
    for (const auto& command : commands) step(command);
    keep(*this);
  }

  const fs::path& tree() const { return tree_; }

  [[noreturn]] void fail(const std::string& why) const {
    fs::remove_all(tree_);
    std::string tail;
    for (const auto& line : log_tail(log_, kTailLines)) tail += "\n  " + line;
    throw BuildError(fmt::format("[build] commit {} cannot be built: {}; log: {}{}", short_commit(commit_), why,
                                 log_.string(), tail));
  }

 private:
  void step(const std::vector<std::string>& command) const {
    const auto shown = command.size() > 1 ? command[0] + " " + command[1] : command[0];
    // Trees of different commits lie in different folders, which must not matter to a compiler cache.
    const std::map<std::string, std::string> environment{{"CCACHE_BASEDIR", tree_.string()}, {"CCACHE_NOHASHDIR", "1"}};
    ProcessEnd end;
    try {
      end = run_process({.command = command, .working_dir = tree_, .environment = environment, .output_file = log_},
                        {.time_limit = kLongestCommand, .cancel_fd = settings_.cancel_fd});
    } catch (const LaunchError& e) {
      fail(e.what());
    }
    if (end.cause == EndCause::cancelled) throw Cancelled("[build] cancelled");
    if (end.cause == EndCause::time_limit) fail(shown + " did not end within two hours");
    if (!end.succeeded()) fail(shown + " failed");
  }

  const GitHistory& history_;
  const std::string& commit_;
  const BuildSettings& settings_;
  const fs::path kept_;
  const fs::path tree_;
  const fs::path log_;
};

// Keeps the binary and removes the tree. Atomic, so that an existing folder is always complete.
void keep_engine(const CommitBuild& build, const fs::path& kept) {
  const auto built = build.tree() / "build" / "engine" / "bin" / "perfbench-engine";
  if (!fs::exists(built)) build.fail("the build did not make " + fs::relative(built, build.tree()).string());
  const fs::path fresh(kept.string() + ".new");
  fs::remove_all(fresh);
  fs::create_directories(fresh / "bin");
  fs::copy_file(built, engine_in(fresh));
  fs::rename(fresh, kept);
  fs::remove_all(build.tree());
}

// A tree may have gigabytes. Removes those that were used least recently.
void remove_old_trees(const fs::path& cache) {
  std::vector<std::pair<fs::file_time_type, fs::path>> built;
  std::error_code gone;  // another process removed it
  for (const auto& entry : fs::directory_iterator(cache, gone)) {
    if (entry.path().extension() == kBuilt) built.emplace_back(entry.last_write_time(gone), entry.path());
  }
  std::sort(built.rbegin(), built.rend());
  for (std::size_t i = kTreesKept; i < built.size(); ++i) {
    auto file = built[i].second;
    fs::remove(file, gone);  // first, because a tree without it counts as incomplete
    fs::remove_all(file.replace_extension(kTree), gone);
    fs::remove(file.replace_extension(kLog), gone);
  }
}

}  // namespace

fs::path default_build_cache() {
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "perfbench" / "builds";
  if (const fs::path home = variable("HOME"); home.is_absolute()) return home / ".cache" / "perfbench" / "builds";
  return folder_of_temporary_files() / "perfbench" / "builds";
}

std::optional<fs::path> built_engine(const std::string& commit, const BuildSettings& settings) {
  const auto engine = engine_in(kept_at(commit, key_of(settings.cmake_options), settings));
  std::error_code ignored;
  return fs::exists(engine, ignored) ? std::optional(engine) : std::nullopt;
}

fs::path build_engine(const GitHistory& history, const std::string& commit, const BuildSettings& settings) {
  std::vector<std::string> configure{"cmake", "--preset", "engine"};
  configure.insert(configure.end(), settings.cmake_options.begin(), settings.cmake_options.end());
  const auto kept = kept_at(commit, key_of(settings.cmake_options), settings);
  const auto engine = engine_in(kept);
  CommitBuild(history, commit, kept, kept.string() + ".source", settings)
      .run(engine, {configure, {"cmake", "--build", "--preset", "engine", "--target", "perfbench-engine"}},
           [&kept](const CommitBuild& build) { keep_engine(build, kept); });
  return engine;
}

fs::path build_tree(const GitHistory& history, const std::string& commit, const BuildCommands& commands,
                    const BuildSettings& settings) {
  std::vector<std::string> words{history.root().string()};
  for (const auto& command : commands) {
    words.emplace_back("command:");  // two commands are not one with the words of both
    words.insert(words.end(), command.begin(), command.end());
  }
  const auto kept = kept_at(commit, key_of(words), settings);
  const fs::path tree(kept.string() + kTree);
  const fs::path done(kept.string() + kBuilt);
  CommitBuild(history, commit, kept, tree, settings).run(done, commands, [&done](const CommitBuild& build) {
    if (!std::ofstream(done).flush()) build.fail("cannot write " + done.string());
  });
  std::error_code gone;
  fs::last_write_time(done, fs::file_time_type::clock::now(), gone);
  remove_old_trees(settings.cache);
  return tree;
}

}  // namespace perfbench::harness
