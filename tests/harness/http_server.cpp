#include "tests/harness/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace perfbench::harness {
namespace {

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

// The number of bytes in the body according to the head, 0 if it does not say.
std::size_t content_length(const std::string& head) {
  const std::string key = "Content-Length: ";
  const auto at = head.find(key);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + key.size()));
}

}  // namespace

HttpServer::HttpServer(const Answer& first, const std::vector<Answer>& then) : answers_{first} {
  answers_.insert(answers_.end(), then.begin(), then.end());
  ::setenv("no_proxy", "*", 1);  // this machine may use a proxy, which must not get requests to loopback
  listener_ = FileDescriptor(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  checked(::bind(listener_.get(), any, size), "bind");
  checked(::listen(listener_.get(), 8), "listen");
  checked(::getsockname(listener_.get(), any, &size), "getsockname");
  port_ = ntohs(address.sin_port);
  int ends[2];
  checked(::pipe(ends), "pipe");
  stop_read_ = FileDescriptor(ends[0]);
  stop_write_ = FileDescriptor(ends[1]);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stop_write_.close();
  thread_.join();
}

std::vector<HttpServer::Request> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  while (true) {
    pollfd waited[] = {{stop_read_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (::poll(waited, 2, -1) < 0 || waited[0].revents != 0) return;
    const FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
    if (connection.is_open()) answer(connection.get());
  }
}

void HttpServer::answer(int connection) {
  std::string received;
  char buffer[4096];
  const auto more = [&] {
    const auto count = ::recv(connection, buffer, sizeof(buffer), 0);
    if (count > 0) received.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  };
  while (received.find("\r\n\r\n") == std::string::npos) {
    if (!more()) return;
  }
  const auto end = received.find("\r\n\r\n") + 4;
  const auto head = received.substr(0, end);
  while (received.size() < end + content_length(head)) {
    if (!more()) return;
  }
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back({head, received.substr(end)});
  }
  const auto& script = answers_[next_];
  if (next_ + 1 < answers_.size()) ++next_;
  if (script.status == 0) {
    while (more()) continue;  // until the client closes the connection
    return;
  }
  const auto send = [&](const std::string& text) {
    return ::send(connection, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  };
  const auto begin = "HTTP/1.1 " + std::to_string(script.status) + " x\r\n" + script.headers + "Connection: close\r\n";
  switch (script.body) {
    case Body::whole:
      send(begin + "Content-Length: 2\r\n\r\nok");
      return;
    case Body::stalls:
      send(begin + "Content-Length: 2\r\n\r\n");
      while (more()) continue;
      return;
    case Body::endless:
      for (auto text = begin + "\r\n"; send(text);) text.assign(sizeof(buffer), 'x');
  }
}

}  // namespace perfbench::harness
