#include "tests/engine/emulation/stream.h"

namespace perfbench::emulation {

void Stream::run_first() {
  const auto work = std::move(work_.front());
  work_.pop_front();
  try {
    work();
  } catch (...) {
    work_.clear();
    throw;
  }
}

void Stream::drain() {
  while (!work_.empty()) run_first();
}

void Stream::mark(const std::shared_ptr<EventState>& event) {
  const std::uint64_t number = ++event->marked;
  event->stream = this;
  push([event, number] {
    event->reached = number;
    event->time = std::chrono::steady_clock::now();
  });
}

void Stream::wait_for(const std::shared_ptr<EventState>& event) {
  push([event, number = event->marked] { reach(*event, number); });
}

void Stream::reach(EventState& event, std::uint64_t mark) {
  while (event.reached < mark && event.stream != nullptr && !event.stream->idle()) event.stream->run_first();
}

}  // namespace perfbench::emulation
