#include "engine/core/pending.h"

#include <exception>

namespace perfbench::engine {

Pending::~Pending() {
  try {
    wait();
  } catch (const std::exception&) {
    // An error persists: the next use of the lane or stream that the work was submitted to throws it again.
  }
}

Pending& Pending::operator=(Pending&& other) {
  if (this == &other) return *this;
  wait();
  state_ = std::move(other.state_);
  return *this;
}

void Pending::wait() {
  if (const auto state = std::move(state_)) state->wait();
}

}  // namespace perfbench::engine
