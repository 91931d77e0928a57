// Streams and events of the emulated device. Work that is put on a stream waits there until the host waits for it, so
// that a test sees what a missing wait leaves undone, and reads memory that was overwritten too early.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace perfbench::emulation {

class Stream;

// Marks of one event, which outlive its handle while a stream still holds one.
struct EventState {
  Stream* stream = nullptr;  // of the last mark
  std::uint64_t marked = 0;
  std::uint64_t reached = 0;
  std::chrono::steady_clock::time_point time;
};

class Stream {
 public:
  void push(std::function<void()> work) { work_.push_back(std::move(work)); }
  void mark(const std::shared_ptr<EventState>& event);
  void wait_for(const std::shared_ptr<EventState>& event);
  // Runs what was put on the stream, in order. An exception of the work ends it and drops what follows.
  void drain();
  bool idle() const { return work_.empty(); }
  // Runs the event's stream up to the mark of this number.
  static void reach(EventState& event, std::uint64_t mark);

 private:
  void run_first();

  std::deque<std::function<void()>> work_;
};

}  // namespace perfbench::emulation
