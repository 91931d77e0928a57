// Streams and events of the emulated device. Work on a stream stays there until the host waits for it, so a test sees
// the effects of a missing wait, and of memory that was overwritten too early. While it waits for other processes, all
// streams advance, as on a device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace perfbench::emulation {

class Stream;
struct Capture;

// Called until it returns true, which means that it is done. False: it waits for another stream or for another process.
using Work = std::function<bool()>;

// The marks of one event. They outlive its handle as long as a stream still refers to one.
struct EventState {
  Stream* stream = nullptr;               // of the last mark
  std::atomic<std::uint64_t> marked = 0;  // a watchdog's thread reads these two
  std::atomic<std::uint64_t> reached = 0;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture;  // of the last mark, if that was an edge of a graph and not a point in time
  std::size_t captured_at = 0;       // how many nodes its stream had added to the capture

  // Tells that the mark of this number has been reached.
  void reach(std::uint64_t number);
};

// The nodes of a graph in the order in which they were enqueued, on whichever stream: an order that its edges allow.
struct Capture {
  struct Node {
    Work work;
    std::shared_ptr<EventState> external;  // instead of work: an event that every run of the graph marks
  };
  Stream* origin = nullptr;
  std::vector<Node> nodes;
};

// Something that an application must not do with a captured stream (Programming Guide, "Stream Capture").
class CaptureFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Stream {
 public:
  void push(Work work);
  void mark(const std::shared_ptr<EventState>& event);
  // A mark that a capture keeps as a node.
  void mark_external(const std::shared_ptr<EventState>& event);
  void wait_for(const std::shared_ptr<EventState>& event);
  void begin_capture();
  // Called for the stream where the capture began. Throws CaptureFault if a stream that took part was not joined again.
  std::shared_ptr<Capture> end_capture(const std::vector<Stream*>& all);
  bool captures() const { return capture_ != nullptr; }
  void run_graph(const Capture& graph);
  // Advances the first work on the stream; returns whether it is done. An exception of the work ends it and drops all
  // later work.
  bool advance();
  bool idle() const { return work_.empty(); }

 private:
  std::deque<Work> work_;
  bool running_ = false;
  std::shared_ptr<Capture> capture_;
  std::size_t captured_to_ = 0;  // index behind this stream's last node
  std::size_t joined_to_ = 0;    // index behind its last node that another stream waits for
};

}  // namespace perfbench::emulation
