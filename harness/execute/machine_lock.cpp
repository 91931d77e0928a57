#include "harness/execute/machine_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <mutex>

#include "harness/system/utc.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kBetweenTries{200};
constexpr std::string_view kBeginning = "perfbench";  // the content of a lock's file

std::string user_name() {
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr) return entry.pw_name;
  return std::to_string(geteuid());
}

}  // namespace

std::optional<fs::path> machine_lock_file() {
  if (const char* set = std::getenv("PERFBENCH_LOCK")) {
    return std::string_view(set) == "none" ? std::nullopt : std::optional<fs::path>(set);
  }
  constexpr const char* kLocks = "/run/lock";
  std::error_code error;
  const auto allowed = fs::status(kLocks, error).permissions();
  const bool everybody_writes = !error && (allowed & fs::perms::others_write) != fs::perms::none;
  return fs::path(everybody_writes ? kLocks : "/tmp") / "perfbench.lock";
}

// All users share one file. In a folder like /tmp, the kernel refuses O_CREAT for a file of another user.
bool MachineLock::open() {
  constexpr int kHow = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  constexpr mode_t kEverybody = 0666;
  fd_ = FileDescriptor(::open(file_.c_str(), kHow));
  if (!fd_.is_open() && errno == ENOENT) {
    fd_ = FileDescriptor(::open(file_.c_str(), kHow | O_CREAT | O_EXCL, kEverybody));
    if (fd_.is_open()) fchmod(fd_.get(), kEverybody);
    if (!fd_.is_open() && errno == EEXIST) fd_ = FileDescriptor(::open(file_.c_str(), kHow));
  }
  // The file of somebody else must not be emptied, under whatever name it appears here.
  struct stat seen {};
  const bool is_single = fd_.is_open() && fstat(fd_.get(), &seen) == 0 && S_ISREG(seen.st_mode) && seen.st_nlink == 1;
  return is_single && (seen.st_size == 0 || holder().starts_with(kBeginning));
}

std::string MachineLock::holder() const {
  constexpr std::size_t kLongest = 400;
  std::string text(kLongest, '\0');
  const auto got = pread(fd_.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.resize(text.find('\n') == std::string::npos ? text.size() : text.find('\n'));
  return text.empty() ? "another process" : text;
}

LockOutcome MachineLock::hold(const std::string& purpose, const LockWait& wait) {
  if (!open()) return LockOutcome::unavailable;
  std::string told;
  while (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return LockOutcome::unavailable;
    if (auto now = holder(); now != told) {
      told = std::move(now);
      if (wait.say) {
        wait.say(
            fmt::format("waiting for {} to finish measuring (lock {}; --no-lock does not wait)", told, file_.string()));
      }
    }
    if (wait.on_tick) wait.on_tick();
    pollfd watched{.fd = wait.cancel_fd, .events = POLLIN, .revents = 0};
    if (poll(&watched, 1, static_cast<int>(kBetweenTries.count())) > 0) return LockOutcome::cancelled;
  }
  const auto text = fmt::format("{} of {} (pid {}, since {})\n", purpose, user_name(), getpid(), utc_now());
  // Without this text, others are told less.
  if (ftruncate(fd_.get(), 0) == 0) std::ignore = pwrite(fd_.get(), text.data(), text.size(), 0);
  return LockOutcome::held;
}

LockOutcome hold_machine(const std::string& purpose, const LockWait& wait) {
  static std::mutex mutex;
  static std::optional<MachineLock> lock;
  static std::optional<LockOutcome> outcome;
  const std::lock_guard guard(mutex);
  if (outcome && *outcome != LockOutcome::cancelled) return *outcome;
  const auto file = machine_lock_file();
  if (!file) return *(outcome = LockOutcome::unavailable);
  lock.emplace(*file);
  return *(outcome = lock->hold(purpose, wait));
}

}  // namespace perfbench::harness
