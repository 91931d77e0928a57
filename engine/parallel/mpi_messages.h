// Messages over MPI. Only for the mpi_*.cpp files.
#pragma once

#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/parallel/messages.h"
#include "engine/parallel/mpi_access.h"

namespace perfbench::engine {

// MPI moves a large message only while both sides call it. A rank that computes, or sleeps until the ranks of another
// group have come, does not call it; then its neighbour would wait for it, and a circle of such ranks would wait for
// ever. So a thread polls while messages are under way.
class MpiMessages : public Messages {
 public:
  // Takes ownership of the communicator, whose calls return errors.
  MpiMessages(MPI_Comm ranks, MpiAccess& mpi, std::int64_t largest_message_bytes);
  // Requires that no message is under way.
  ~MpiMessages() override;
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  std::unique_ptr<Pending::State> send(std::int64_t to, int tag, std::span<const std::byte> bytes) override;
  std::unique_ptr<Pending::State> receive(std::int64_t from, int tag, std::span<std::byte> bytes) override;

 private:
  // One message, in as many parts as MPI needs.
  struct UnderWay {
    std::vector<MPI_Request> requests;
    bool ended = false;
  };
  class Message;

  template <class Start>
  std::unique_ptr<Pending::State> begin(std::int64_t bytes, const Start& start);
  void wait(const UnderWay& message);
  void stop(const std::exception_ptr& why);
  void run();
  bool any_ended();

  MPI_Comm ranks_;
  MpiAccess& mpi_;
  std::int64_t largest_message_bytes_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  std::list<std::shared_ptr<UnderWay>> under_way_;
  std::exception_ptr error_;  // set once the ranks are no longer in step
  bool stopping_ = false;
  std::thread thread_;  // declared last because it uses all of the above
};

}  // namespace perfbench::engine
