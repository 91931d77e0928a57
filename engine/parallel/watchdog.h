// Ends the run when a collective between GPUs fails or hangs. The thread that waits for the device cannot notice it,
// and the other ranks would wait for ever.
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
    // Whether the operation has ended. The watchdog's thread calls it.
    std::function<bool()> ended;
    std::string name;             // "all_gather over fsdp, 104857600 bytes"
    const void* queue = nullptr;  // the stream that it runs on
  };
  struct Options {
    std::chrono::milliseconds timeout{600'000};
    std::chrono::milliseconds period{100};
    // Called first on the watchdog's thread, to prepare it for the other calls.
    std::function<void()> enter = {};
    // An error of the library itself, if there is one.
    std::function<std::optional<std::string>()> fault;
    // Called once, with a description of the failure. It does not return in production.
    std::function<void(const std::string&)> give_up;
  };
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Operations of a queue end in the order of submission. The time of each counts from the end of the previous one, or
  // from now.
  void watch(Watched operation);

 private:
  struct Entry {
    Watched operation;
    Clock::time_point since;
  };
  void run();
  // The current error, if there is one.
  std::optional<std::string> look(Clock::time_point now);
  std::optional<std::string> look(std::deque<Entry>& queue, Clock::time_point now) const;

  Options options_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::map<const void*, std::deque<Entry>> queues_;
  std::thread thread_;  // declared last because it uses all of the above
};

// "NAME has not ended after 600 s; ...": the message for something that waits for other ranks in vain.
std::string has_not_ended(const std::string& name, Watchdog::Clock::duration waited);

}  // namespace perfbench::engine
