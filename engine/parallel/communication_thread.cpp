#include "engine/parallel/communication_thread.h"

#include <utility>

namespace perfbench::engine {

CommunicationThread::~CommunicationThread() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

CommunicationThread::Ticket CommunicationThread::submit(std::function<void()> operation) {
  Ticket ticket = 0;
  {
    const std::scoped_lock lock(mutex_);
    ticket = next_ticket_++;
    queue_.push_back(std::move(operation));
  }
  submitted_.notify_one();
  return ticket;
}

void CommunicationThread::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return done_ > ticket; });
  if (failed_ >= 0 && failed_ <= ticket) std::rethrow_exception(error_);
}

void CommunicationThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    submitted_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto operation = std::move(queue_.front());
    queue_.pop_front();
    if (failed_ < 0) {
      lock.unlock();
      std::exception_ptr error;
      try {
        operation();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) {
        error_ = error;
        failed_ = done_;
      }
    }
    ++done_;
    finished_.notify_all();
  }
}

}  // namespace perfbench::engine
