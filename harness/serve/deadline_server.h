// An HTTP server in which no client can occupy a thread for long. cpp-httplib only limits each single read and write,
// so a client that sends a byte now and then could occupy a thread for ever.
#pragma once

#include <httplib.h>

#include <chrono>

namespace perfbench::harness {

class DeadlineServer : public httplib::Server {
 public:
  // A whole request must arrive within `limit`. Its answer must be received within `limit` plus the time that the
  // slowest accepted line takes (kSlowestLine). Other connections are closed.
  explicit DeadlineServer(std::chrono::milliseconds limit) : limit_(limit) {}

  static constexpr std::int64_t kSlowestLine = 32 * 1024;  // bytes of an answer that a client must receive in a second
  static constexpr std::int64_t kLongestRequest = 256 * 1024;  // bytes, including its headers

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::chrono::milliseconds limit_;
};

}  // namespace perfbench::harness
