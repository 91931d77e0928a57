#include "engine/parallel/mpi_messages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

// The pause between two polls: far shorter than the computation of a stage, and it leaves the core to that computation.
constexpr std::chrono::microseconds kPause(20);

}  // namespace

class MpiMessages::Message final : public Pending::State {
 public:
  Message(MpiMessages& messages, std::shared_ptr<UnderWay> message)
      : messages_(messages), message_(std::move(message)) {}
  // An exception ends this rank, and with it all others. So messages that others no longer send are not waited for.
  void wait() override {
    if (std::uncaught_exceptions() > 0) {
      messages_.stop(std::make_exception_ptr(LogicFault("a message after an exception left one under way")));
    } else {
      messages_.wait(*message_);
    }
  }

 private:
  MpiMessages& messages_;
  std::shared_ptr<UnderWay> message_;
};

MpiMessages::MpiMessages(MPI_Comm ranks, MpiAccess& mpi, std::int64_t largest_message_bytes)
    : ranks_(ranks), mpi_(mpi), largest_message_bytes_(largest_message_bytes), thread_([this] { run(); }) {}

MpiMessages::~MpiMessages() {
  stop(nullptr);
  thread_.join();
  mpi_.call([&] { MPI_Comm_free(&ranks_); });
}

template <class Start>
std::unique_ptr<Pending::State> MpiMessages::begin(std::int64_t bytes, const Start& start) {
  auto message = std::make_shared<UnderWay>();
  {
    const std::scoped_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    for (std::int64_t at = 0; at < bytes; at += largest_message_bytes_) {
      message->requests.push_back(MPI_REQUEST_NULL);
      const auto count = static_cast<int>(std::min(bytes - at, largest_message_bytes_));
      mpi_.call([&] { start(at, count, &message->requests.back()); });
    }
    under_way_.push_back(message);
  }
  begun_.notify_one();
  return std::make_unique<Message>(*this, std::move(message));
}

std::unique_ptr<Pending::State> MpiMessages::send(std::int64_t to, int tag, std::span<const std::byte> bytes) {
  return begin(static_cast<std::int64_t>(bytes.size()), [&](std::int64_t at, int count, MPI_Request* request) {
    mpi_check(MPI_Isend(bytes.data() + at, count, MPI_BYTE, static_cast<int>(to), tag, ranks_, request), "MPI_Isend");
  });
}

std::unique_ptr<Pending::State> MpiMessages::receive(std::int64_t from, int tag, std::span<std::byte> bytes) {
  return begin(static_cast<std::int64_t>(bytes.size()), [&](std::int64_t at, int count, MPI_Request* request) {
    mpi_check(MPI_Irecv(bytes.data() + at, count, MPI_BYTE, static_cast<int>(from), tag, ranks_, request), "MPI_Irecv");
  });
}

void MpiMessages::wait(const UnderWay& message) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return message.ended || error_; });
  if (!message.ended) std::rethrow_exception(error_);
}

void MpiMessages::stop(const std::exception_ptr& why) {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    if (!error_) error_ = why;
  }
  begun_.notify_one();
  ended_.notify_all();
}

// The caller holds mutex_.
bool MpiMessages::any_ended() {
  bool any = false;
  for (auto message = under_way_.begin(); message != under_way_.end();) {
    auto& requests = (*message)->requests;
    int ended = 0;
    mpi_.call([&] {
      mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &ended, MPI_STATUSES_IGNORE),
                "MPI_Testall");
    });
    if (ended == 0) {
      ++message;
      continue;
    }
    (*message)->ended = true;
    message = under_way_.erase(message);
    any = true;
  }
  return any;
}

void MpiMessages::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stopping_ || !under_way_.empty(); });
    if (stopping_) return;
    bool any = false;
    try {
      any = any_ended();
    } catch (...) {
      error_ = std::current_exception();
      under_way_.clear();
      any = true;
    }
    if (any) {
      ended_.notify_all();
      continue;
    }
    lock.unlock();
    std::this_thread::sleep_for(kPause);
    lock.lock();
  }
}

}  // namespace perfbench::engine
