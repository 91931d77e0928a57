#include "harness/pairs/turns.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/execute/process_tree.h"
#include "harness/system/files.h"
#include "workloads/spec/turn_files.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

FileDescriptor make_fifo(const fs::path& file) {
  if (mkfifo(file.c_str(), 0600) == 0) {
    FileDescriptor fd(open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (fd.is_open()) return fd;
  }
  throw std::system_error(errno, std::generic_category(), "[compare] cannot make a FIFO " + file.string());
}

using Clock = std::chrono::steady_clock;

// A stopwatch for waiting that different threads stop and read.
class WaitingTime {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    since_ = Clock::now();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (since_) before_ += Clock::now() - *since_;
    since_.reset();
  }
  std::optional<Clock::time_point> since() const {
    const std::lock_guard lock(mutex_);
    return since_;
  }
  std::chrono::nanoseconds total() const {
    const std::lock_guard lock(mutex_);
    return since_ ? before_ + (Clock::now() - *since_) : before_;
  }

 private:
  mutable std::mutex mutex_;
  std::chrono::nanoseconds before_{0};
  std::optional<Clock::time_point> since_;
};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// The work that a run does while it waits for its turn. Threads that keep running in the other run's step slow that
// step down, and their own work appears in no step at all. A wait is watched only after kWindDown: OpenMP's threads
// poll for about 0.1 ms before they sleep (harness/execute/launcher.cpp), and that does not count as work.
class WaitingLoad {
 public:
  static constexpr std::chrono::milliseconds kWindDown{1};

  // The process below which the run's processes are (Watch::on_start). May be called from any thread. Before that,
  // nothing is watched.
  void set_root(pid_t root) { root_ = root; }
  void begin() {
    const pid_t root = root_;
    if (root == 0) return;
    if (walks_due_ == 0) {
      processes_ = descendants(root);
      walks_due_ = kWaitsPerWalk;
    }
    --walks_due_;
    before_ = cpu_times(processes_);
    since_ = Clock::now();
    watching_ = true;
  }
  // Does nothing without a preceding begin().
  void end() {
    if (!watching_) return;
    watching_ = false;
    watched_.wall_s += seconds(Clock::now() - since_);
    for (const auto& [process, used] : cpu_times(processes_)) {
      const auto then = before_.find(process);
      if (then != before_.end()) watched_.cpu_s += seconds(used - then->second);
    }
  }
  WatchedWait watched() const { return watched_; }

 private:
  static constexpr std::size_t kWaitsPerWalk = 16;  // the tree of processes rarely changes

  std::atomic<pid_t> root_{0};
  std::vector<pid_t> processes_;
  std::size_t walks_due_ = 0;  // number of waits until the processes are listed again
  std::map<pid_t, std::chrono::nanoseconds> before_;
  Clock::time_point since_;
  bool watching_ = false;
  WatchedWait watched_;
};

// One run that takes turns.
class Chair {
 public:
  explicit Chair(const Player& player)
      : player_(player), folder_("perfbench-turns"), asks_(make_fifo(folder_.path() / spec::kTurnAsksFile)) {
    for (std::int64_t rank = 0; rank < player.ranks; ++rank) {
      go_.push_back(make_fifo(folder_.path() / spec::turn_go_file(rank)));
    }
  }
  // Ends the run, so that it does not wait for a turn that never comes.
  ~Chair() { cancel(); }
  Chair(const Chair&) = delete;
  Chair& operator=(const Chair&) = delete;

  void start() {
    thread_ = std::jthread([this] {
      try {
        player_.play({.folder = folder_.path(),
                      .cancel_fd = cancel_.fd(),
                      .waited = [this] { return waiting_.total(); },
                      .started = [this](pid_t root) { load_.set_root(root); }});
      } catch (...) {
        error_ = std::current_exception();
      }
      over_.add();
    });
  }
  void cancel() { cancel_.add(); }
  void go() {
    waiting_.end();
    asked_ = 0;
    for (const auto& fd : go_) {
      while (write(fd.get(), "t", 1) < 0 && errno == EINTR) {
      }
    }
  }

  int asks_fd() const { return asks_.get(); }
  int over_fd() const { return over_.fd(); }
  void take_asks() {
    std::array<char, 64> bytes;
    const auto got = read(asks_.get(), bytes.data(), bytes.size());
    if (got > 0) asked_ += got;
    if (waits()) waiting_.begin();
  }
  void take_over() {
    over_.take();
    thread_.join();
    is_over_ = true;
  }
  bool is_over() const { return is_over_; }
  // Whether all its ranks wait for their turn.
  bool waits() const { return !is_over_ && asked_ >= player_.ranks; }
  // Watches this run while the other one steps, and knows since when it has been waiting.
  WaitingLoad& load() { return load_; }
  const WaitingLoad& load() const { return load_; }
  Clock::time_point waiting_since() const { return waiting_.since().value_or(Clock::now()); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const Player& player_;
  TemporaryFolder folder_;
  FileDescriptor asks_;
  std::vector<FileDescriptor> go_;
  WaitingTime waiting_;
  WaitingLoad load_;
  Event cancel_;
  Event over_;
  std::exception_ptr error_;  // of the thread; read after it has ended
  std::int64_t asked_ = 0;
  bool is_over_ = false;
  std::jthread thread_;  // declared last, because it uses the members above
};

class Table {
 public:
  Table(const Player& first, const Player& second, int cancel_fd)
      : first_(first), second_(second), cancel_fd_(cancel_fd) {}

  std::array<WatchedWait, 2> play(const std::function<bool()>& first_begins) {
    first_.start();
    settle(first_);
    second_.start();
    settle(second_);
    while (!first_.is_over() || !second_.is_over()) {
      auto [begins, follows] = first_begins() ? std::tie(first_, second_) : std::tie(second_, first_);
      step(begins, follows);
      step(follows, begins);
    }
    first_.rethrow();
    second_.rethrow();
    return {first_.load().watched(), second_.load().watched()};
  }

 private:
  // Watches the waiting run during the step of the other one.
  void step(Chair& seat, Chair& other) {
    if (seat.waits() && !cancelled_) {
      if (other.waits()) watch_from_ = other.waiting_since() + WaitingLoad::kWindDown;
      watch_if_due(other);
      seat.go();
    }
    settle(seat, &other);
    watch_from_.reset();
    other.load().end();
  }

  // A run that has just stepped first needs time to wind down.
  void watch_if_due(Chair& waiting) {
    if (!watch_from_ || Clock::now() < *watch_from_) return;
    watch_from_.reset();
    waiting.load().begin();
  }

  // Waits until all its ranks wait for their turn or the run is over. If cancelled, waits until it is over.
  void settle(Chair& seat, Chair* waiting = nullptr) {
    while ((!seat.waits() || cancelled_) && !seat.is_over()) {
      if (waiting != nullptr) watch_if_due(*waiting);
      std::array<pollfd, 3> watched{pollfd{seat.asks_fd(), POLLIN, 0}, pollfd{seat.over_fd(), POLLIN, 0},
                                    pollfd{cancel_fd_, POLLIN, 0}};
      if (poll(watched.data(), watched.size(), milliseconds_until(watch_from_)) <= 0) continue;
      if (watched[0].revents != 0) seat.take_asks();
      if (watched[1].revents != 0) seat.take_over();
      if (watched[2].revents != 0) pass_on_cancellation();
    }
  }

  // For poll(): -1 if there is no such moment.
  static int milliseconds_until(const std::optional<Clock::time_point>& moment) {
    if (!moment) return -1;
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(*moment - Clock::now()).count()));
  }

  // Only one reader gets a byte of a descriptor.
  void pass_on_cancellation() {
    std::array<char, 128> consumed;  // one signalfd_siginfo, or the bytes of a pipe
    if (read(cancel_fd_, consumed.data(), consumed.size()) <= 0) return;
    cancelled_ = true;
    first_.cancel();
    second_.cancel();
  }

  Chair first_;
  Chair second_;
  const int cancel_fd_;
  bool cancelled_ = false;
  std::optional<Clock::time_point> watch_from_;  // when the watch of the waiting run begins
};

}  // namespace

std::array<WatchedWait, 2> take_turns(const Player& first, const Player& second,
                                      const std::function<bool()>& first_begins, int cancel_fd) {
  return Table(first, second, cancel_fd).play(first_begins);
}

}  // namespace perfbench::harness
