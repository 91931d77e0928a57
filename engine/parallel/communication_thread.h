// Runs submitted operations one after another beside the computation. An operation that throws ends this: every later
// wait throws its error, because the ranks are no longer in step.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace perfbench::engine {

class CommunicationThread {
 public:
  CommunicationThread() : thread_([this] { run(); }) {}
  // Finishes the submitted operations.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  using Ticket = std::int64_t;
  Ticket submit(std::function<void()> operation);
  // Blocks until the operation has run. Throws the error that stopped the thread, if that came no later than this
  // operation.
  void wait(Ticket ticket);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable finished_;
  std::deque<std::function<void()>> queue_;
  Ticket next_ticket_ = 0;
  Ticket done_ = 0;  // operations that have ended
  Ticket failed_ = -1;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;  // declared last because it uses all of the above
};

}  // namespace perfbench::engine
