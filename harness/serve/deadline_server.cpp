#include "harness/serve/deadline_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>

namespace perfbench::harness {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook(100);  // how often an idle connection checks whether the server is stopping

// Returns whether the socket is ready for `events` before `deadline`.
bool wait_until(int socket, short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

void address_of(int (*ask)(int, sockaddr*, socklen_t*), int socket, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (ask(socket, generic, &size) != 0) return;
  if (::getnameinfo(generic, size, host.data(), host.size(), service.data(), service.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return;
  }
  ip = host.data();
  port = std::atoi(service.data());
}

// One connection, with a deadline for each request and each answer.
class DeadlineStream : public httplib::Stream {
 public:
  DeadlineStream(int socket, milliseconds limit) : socket_(socket), limit_(limit) {}

  // Waits for the first byte of a request, from which on its time counts. Returns false if none comes, or the server is
  // stopping.
  bool await_request(milliseconds idle, const std::atomic<socket_t>& listener) {
    for (const auto end = Clock::now() + idle; read_ == held_;) {
      const auto now = Clock::now();
      if (now >= end || listener == INVALID_SOCKET) return false;
      if (wait_until(socket_, POLLIN, std::min(end, now + kLook))) break;
    }
    received_ = static_cast<std::int64_t>(held_ - read_);
    answering_ = false;
    deadline_ = Clock::now() + limit_;
    return true;
  }

  bool is_readable() const override { return read_ < held_ || wait_until(socket_, POLLIN, deadline_); }
  bool is_writable() const override { return wait_until(socket_, POLLOUT, deadline_); }

  ssize_t read(char* to, std::size_t size) override {
    if (read_ == held_ && !fill()) return -1;
    const auto got = std::min(size, held_ - read_);
    std::copy_n(buffer_.data() + read_, got, to);
    read_ += got;
    return static_cast<ssize_t>(got);
  }

  ssize_t write(const char* from, std::size_t size) override {
    if (!answering_) {
      answering_ = true;
      deadline_ = Clock::now() + limit_;
    }
    if (!wait_until(socket_, POLLOUT, deadline_)) return -1;
    const auto sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    // The deadline moves at most by the limit: a socket accepts data at once that the client has not received yet.
    if (sent > 0) {
      deadline_ = std::min(deadline_ + milliseconds(sent * 1000 / DeadlineServer::kSlowestLine), Clock::now() + limit_);
    }
    return sent;
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    address_of(::getpeername, socket_, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    address_of(::getsockname, socket_, ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  bool fill() {
    if (received_ >= DeadlineServer::kLongestRequest || !wait_until(socket_, POLLIN, deadline_)) return false;
    const auto got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    received_ += got;
    read_ = 0;
    held_ = static_cast<std::size_t>(got);
    return true;
  }

  const int socket_;
  const milliseconds limit_;
  Clock::time_point deadline_;
  bool answering_ = false;
  std::int64_t received_ = 0;  // bytes of this request
  std::array<char, 4096> buffer_{};
  std::size_t read_ = 0;  // buffer_[read_, held_) has not been read yet
  std::size_t held_ = 0;
};

}  // namespace

bool DeadlineServer::process_and_close_socket(socket_t socket) {
  DeadlineStream stream(socket, limit_);
  const std::chrono::seconds idle(keep_alive_timeout_sec_);
  bool answered = false;
  for (auto left = keep_alive_max_count_; left > 0 && stream.await_request(idle, svr_sock_); --left) {
    bool closed = false;
    answered = process_request(stream, left == 1, closed, nullptr);
    if (!answered || closed) break;
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return answered;
}

}  // namespace perfbench::harness
