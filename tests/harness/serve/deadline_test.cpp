// A server with clients that send or receive one byte now and then, over real sockets.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "harness/serve/deadline_server.h"
#include "harness/serve/server.h"
#include "harness/store/database.h"
#include "harness/system/files.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kMostDrips = 500;  // rounds of a millisecond a client: far more than the deadlines below

// A connection to this port of loopback.
class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Whether the server still accepts it.
  bool send(const std::string& text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Whether the server has closed the connection, or does so within a millisecond.
  bool is_closed() const {
    pollfd one{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, 1) != 1) return false;
    std::array<char, 4096> answer{};
    return ::recv(socket_.get(), answer.data(), answer.size(), 0) <= 0;
  }
  // Everything that arrives until the server closes the connection.
  std::string receive() const {
    std::string out;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::recv(socket_.get(), block.data(), block.size(), 0)) > 0;) {
      out.append(block.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  bool take_a_byte() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 1;
  }

 private:
  FileDescriptor socket_;
};

std::string request(const std::string& headers) {
  return "GET / HTTP/1.1\r\n" + headers + "\r\n";
}
const std::string kOwnHost = "Host: localhost\r\n";
const std::string kLast = "Connection: close\r\n";

// `perfbench serve` of an empty database.
class Served {
 public:
  explicit Served(int request_ms) {
    open_database(scratch_ / "a.db");
    EXPECT_EQ(::pipe(stop_.data()), 0);
    options_ = {.db = scratch_ / "a.db", .port = 0, .request_ms = request_ms};
    std::promise<std::string> url;
    auto ready = url.get_future();
    thread_ = std::thread([this, &url] {
      serve(options_, {.engine = "/no/engine"}, stop_[0], [&url](const std::string& at) { url.set_value(at); });
    });
    const auto at = ready.get();
    port_ = std::stoi(at.substr(at.rfind(':') + 1));
  }
  ~Served() {
    EXPECT_EQ(::write(stop_[1], "x", 1), 1);
    thread_.join();
    for (const int end : stop_) ::close(end);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  std::string answer(const std::string& headers) const {
    const Client client(port_);
    EXPECT_TRUE(client.send(request(headers + kLast)));
    return client.receive();
  }

 private:
  ScratchFolder scratch_;
  std::array<int, 2> stop_{};
  ServerOptions options_;
  std::thread thread_;
  int port_ = 0;
};

// More clients than the server has threads.
TEST(ServeDeadline, EndsSlowRequestsAndAnswersTheOthers) {
  const Served server(50);
  std::vector<std::unique_ptr<Client>> dripping;
  for (int i = 0; i < 40; ++i) {
    dripping.push_back(std::make_unique<Client>(server.port()));
    EXPECT_TRUE(dripping.back()->send("GET / HTTP/1.1\r\n" + kOwnHost));
  }
  int drips = 0;
  while (!dripping.empty() && ++drips < kMostDrips) {
    std::erase_if(dripping, [](const auto& one) { return !one->send("A: b\r\n") || one->is_closed(); });
  }
  ASSERT_TRUE(dripping.empty()) << dripping.size() << " of 40 hold a thread after " << drips << " drips";
  EXPECT_THAT(server.answer(kOwnHost), StartsWith("HTTP/1.1 20"));
}

TEST(ServeDeadline, ARequestHasALimitedSize) {
  const Served server(600'000);
  const Client client(server.port());
  EXPECT_TRUE(client.send("GET / HTTP/1.1\r\n" + kOwnHost));
  const auto line = "A: " + std::string(1000, 'b') + "\r\n";
  int lines = 0;
  while (lines < 10'000 && client.send(line)) ++lines;
  EXPECT_LT(lines, 10'000) << "a request of 10 MB is still being read";
}

TEST(ServeDeadline, TakesSeveralRequestsOfOneConnectionAlsoWhereTheyComeAtOnce) {
  const Served server(600'000);
  const Client client(server.port());
  EXPECT_TRUE(client.send(request(kOwnHost) + request(kOwnHost) + request(kOwnHost + kLast)));
  const auto answers = client.receive();
  int count = 0;
  for (auto at = answers.find("HTTP/1.1 20"); at != std::string::npos; at = answers.find("HTTP/1.1 20", at + 1))
    ++count;
  EXPECT_EQ(count, 3) << answers.substr(0, 200);
}

TEST(ServeDeadline, OneHostHeaderThatIsThisMachineIsNeeded) {
  const Served server(600'000);
  const auto port = std::to_string(server.port());
  EXPECT_THAT(server.answer("Host: 127.0.0.1:" + port + "\r\n"), StartsWith("HTTP/1.1 20"));
  EXPECT_THAT(server.answer("Host: localhost:" + port + ":evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(server.answer(""), StartsWith("HTTP/1.1 403"));
  for (const auto* other : {"Host: evil.example\r\n", "Host: localhost\r\n"}) {
    EXPECT_THAT(server.answer(kOwnHost + other), StartsWith("HTTP/1.1 400")) << other;
    EXPECT_THAT(server.answer(other + kOwnHost), HasSubstr("one Host header")) << other;
  }
}

// An answer that does not fit into the buffers of the sockets.
TEST(ServeDeadline, EndsAnAnswerThatIsReceivedTooSlowly) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  DeadlineServer server(std::chrono::milliseconds(50));
  std::promise<bool> end;
  auto sent = end.get_future();
  server.Get("/", [&end](const httplib::Request&, httplib::Response& response) {
    response.set_content_provider(
        kBytes, "text/plain",
        [](std::size_t, std::size_t length, httplib::DataSink& sink) {
          const std::string block(std::min<std::size_t>(length, 65536), 'x');
          return sink.write(block.data(), block.size());
        },
        [&end](bool success) { end.set_value(success); });
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&server] { server.listen_after_bind(); });
  {
    const Client client(port);
    EXPECT_TRUE(client.send(request(kOwnHost)));
    int drips = 0;
    while (sent.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready && ++drips < 10 * kMostDrips) {
      client.take_a_byte();
    }
    EXPECT_FALSE(sent.get());
  }
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace perfbench::harness
