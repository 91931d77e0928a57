// An HTTP server in which no client can hold a thread for long. cpp-httplib limits every single read and write, so a
// client that sends one byte now and then has a thread to itself for as long as it likes.
#pragma once

#include <httplib.h>

#include <chrono>

namespace perfbench::harness {

class DeadlineServer : public httplib::Server {
 public:
  // `limit` is the time in which a whole request must arrive, and the time beyond that of a slow line in which its
  // whole answer must be taken (kSlowestLine). Other connections are closed.
  explicit DeadlineServer(std::chrono::milliseconds limit) : limit_(limit) {}

  static constexpr std::int64_t kSlowestLine = 32 * 1024;      // bytes of an answer that a client must take a second
  static constexpr std::int64_t kLongestRequest = 256 * 1024;  // bytes, with its headers

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::chrono::milliseconds limit_;
};

}  // namespace perfbench::harness
