// A small HTTP server on loopback, for tests of senders: one thread, scripted answers, and a record of everything
// received.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/system/files.h"

namespace perfbench::harness {

class HttpServer {
 public:
  enum class Body {
    whole,
    stalls,   // announced but never sent; the connection stays open until the client closes it
    endless,  // until the client closes the connection
  };
  struct Answer {
    int status = 200;          // 0: no answer; the connection stays open until the client closes it
    std::string headers = {};  // complete lines, each with its "\r\n"
    Body body = Body::whole;
  };
  struct Request {
    std::string head;  // request line and headers
    std::string body;
  };

  // One answer for each request; the last one is repeated.
  explicit HttpServer(const Answer& first, const std::vector<Answer>& then = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/hook/secret-path"; }
  std::vector<Request> requests() const;

 private:
  void serve();
  void answer(int connection);

  std::vector<Answer> answers_;
  std::size_t next_ = 0;
  FileDescriptor listener_;
  FileDescriptor stop_read_;
  FileDescriptor stop_write_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace perfbench::harness
