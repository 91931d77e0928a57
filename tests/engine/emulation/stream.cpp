#include "tests/engine/emulation/stream.h"

#include <algorithm>
#include <utility>

namespace perfbench::emulation {

// If it is called again while its first work runs, because two streams wait for each other, it does nothing.
bool Stream::advance() {
  if (work_.empty() || running_) return false;
  running_ = true;
  bool over = false;
  try {
    over = work_.front()();
  } catch (...) {
    running_ = false;
    work_.clear();
    throw;
  }
  running_ = false;
  if (over) work_.pop_front();
  return over;
}

void EventState::reach(std::uint64_t number) {
  reached = number;
  time = std::chrono::steady_clock::now();
}

void Stream::push(Work work) {
  if (!capture_) {
    work_.push_back(std::move(work));
    return;
  }
  capture_->nodes.push_back({std::move(work), nullptr});
  captured_to_ = capture_->nodes.size();
}

void Stream::mark(const std::shared_ptr<EventState>& event) {
  event->stream = this;
  event->capture = capture_;
  event->captured_at = captured_to_;
  if (capture_) return;
  push([event, number = ++event->marked] {
    event->reach(number);
    return true;
  });
}

void Stream::mark_external(const std::shared_ptr<EventState>& event) {
  if (!capture_) return mark(event);
  capture_->nodes.push_back({nullptr, event});
  captured_to_ = capture_->nodes.size();
}

void Stream::wait_for(const std::shared_ptr<EventState>& event) {
  if (event->capture) {
    if (event->capture->origin->capture_ != event->capture) {
      throw CaptureFault("a stream waits for an event of a capture that has ended");
    }
    if (capture_ && capture_ != event->capture) throw CaptureFault("an event joins two captures");
    capture_ = event->capture;
    captured_to_ = std::max(captured_to_, event->captured_at);
    event->stream->joined_to_ = std::max(event->stream->joined_to_, event->captured_at);
    return;
  }
  if (capture_) throw CaptureFault("a captured stream waits for an event from outside of the capture");
  push([event, number = event->marked.load()] {
    while (event->reached < number && event->stream->advance()) {
    }
    // A stream that dropped its work will not reach further marks.
    return event->reached >= number || event->stream->idle();
  });
}

void Stream::begin_capture() {
  if (capture_) throw CaptureFault("the stream is captured already");
  capture_ = std::make_shared<Capture>();
  capture_->origin = this;
}

std::shared_ptr<Capture> Stream::end_capture(const std::vector<Stream*>& all) {
  if (!capture_ || capture_->origin != this) throw CaptureFault("no capture began on this stream");
  const auto graph = capture_;
  bool joined = true;
  for (Stream* stream : all) {
    if (stream->capture_ != graph) continue;
    joined = joined && (stream == this || stream->joined_to_ >= stream->captured_to_);
    stream->capture_ = nullptr;
    stream->captured_to_ = stream->joined_to_ = 0;
  }
  if (!joined) throw CaptureFault("a stream that took part in the capture was not joined again");
  return graph;
}

void Stream::run_graph(const Capture& graph) {
  for (const auto& node : graph.nodes) {
    if (node.external) {
      mark(node.external);
    } else {
      push(node.work);
    }
  }
}

}  // namespace perfbench::emulation
