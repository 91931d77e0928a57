// Ends the run when a collective between GPUs fails or hangs: the thread that waits for the device cannot notice, and
// the other ranks would wait for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace perfbench::engine {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    // Whether the operation has ended. Asked by the watchdog's thread.
    std::function<bool()> ended;
    std::string name;             // "all_gather over fsdp, 104857600 bytes"
    const void* queue = nullptr;  // a stream
  };
  struct Options {
    std::chrono::milliseconds timeout{600'000};
    std::chrono::milliseconds period{100};
    // Called first on the watchdog's thread: what its questions need there, if anything.
    std::function<void()> enter = {};
    // What is wrong with the library itself, if anything.
    std::function<std::optional<std::string>()> fault;
    // Called once, with the evidence. Does not return in production.
    std::function<void(const std::string&)> give_up;
  };
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Operations of a queue end in the order they were given; each is timed from the end of the one before it, or from
  // now.
  void watch(Watched operation);

 private:
  struct Entry {
    Watched operation;
    Clock::time_point since;
  };
  void run();
  // What is wrong now, if anything.
  std::optional<std::string> look(Clock::time_point now);
  std::optional<std::string> look(std::deque<Entry>& queue, Clock::time_point now) const;

  Options options_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::map<const void*, std::deque<Entry>> queues_;
  std::thread thread_;  // last: it uses all of the above
};

// "NAME has not ended after 600 s; ...": what is said of something that waits for other ranks in vain.
std::string has_not_ended(const std::string& name, Watchdog::Clock::duration waited);

}  // namespace perfbench::engine
