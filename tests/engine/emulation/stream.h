// Streams and events of the emulated device. Work that is put on a stream waits there until the host waits for it, so
// that a test sees what a missing wait leaves undone, and reads memory that was overwritten too early. Where it waits
// for other processes, all streams go on meanwhile, as on a device.
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

// Called until it returns true: it is over. False: it waits for another stream, or for another process.
using Work = std::function<bool()>;

// Marks of one event, which outlive its handle while a stream still holds one.
struct EventState {
  Stream* stream = nullptr;               // of the last mark
  std::atomic<std::uint64_t> marked = 0;  // a watchdog's thread asks for these two
  std::atomic<std::uint64_t> reached = 0;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture;  // of the last mark, if that was an edge of a graph and no moment
  std::size_t captured_at = 0;       // how much of the capture its stream had put there

  // The mark of this number is reached now.
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

// What an application must not do with a stream that is captured (Programming Guide, "Stream Capture").
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
  // Of the stream where it began. Throws CaptureFault when a stream that took part was not joined again.
  std::shared_ptr<Capture> end_capture(const std::vector<Stream*>& all);
  bool captures() const { return capture_ != nullptr; }
  void run_graph(const Capture& graph);
  // Helps the first thing on the stream on: whether it is over. An exception of the work ends it and drops what
  // follows.
  bool advance();
  bool idle() const { return work_.empty(); }

 private:
  std::deque<Work> work_;
  bool running_ = false;
  std::shared_ptr<Capture> capture_;
  std::size_t captured_to_ = 0;  // behind this stream's last node
  std::size_t joined_to_ = 0;    // behind its last node that another stream waits for
};

}  // namespace perfbench::emulation
