#include "engine/parallel/watchdog.h"

#include <algorithm>
#include <utility>

namespace perfbench::engine {

Watchdog::Watchdog(Options options) : options_(std::move(options)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

void Watchdog::watch(Watched operation) {
  const std::scoped_lock lock(mutex_);
  auto& queue = queues_[operation.queue];
  queue.push_back({std::move(operation), Clock::now()});
}

std::optional<std::string> Watchdog::look(Clock::time_point now) {
  if (auto fault = options_.fault()) return fault;
  for (auto& [id, queue] : queues_) {
    if (auto wrong = look(queue, now)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Watchdog::look(std::deque<Entry>& queue, Clock::time_point now) const {
  while (!queue.empty() && queue.front().operation.ended()) {
    queue.pop_front();
    if (!queue.empty()) queue.front().since = std::max(queue.front().since, now);
  }
  if (queue.empty() || now - queue.front().since < options_.timeout) return std::nullopt;
  return has_not_ended(queue.front().operation.name, now - queue.front().since);
}

void Watchdog::run() {
  if (options_.enter) options_.enter();
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, options_.period, [this] { return stopping_; })) {
    if (const auto wrong = look(Clock::now())) {
      options_.give_up(*wrong);
      return;
    }
  }
}

std::string has_not_ended(const std::string& name, Watchdog::Clock::duration waited) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited);
  return name + " has not ended after " + std::to_string(seconds.count()) +
         " s; another rank died, hangs, or took a different path";
}

}  // namespace perfbench::engine
