// One HTTP request, by libcurl.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace perfbench::harness {

// The parts of an address that decide whether a secret may be sent there.
struct HttpAddress {
  std::string scheme;        // "https"
  bool is_loopback = false;  // localhost, 127.0.0.0/8 or [::1]: the request never leaves the machine
};

// nullopt for text that is not an address.
std::optional<HttpAddress> parse_http_address(const std::string& url);

struct HttpRequest {
  std::string url;                        // http or https
  std::vector<std::string> headers = {};  // "Name: value"
  std::optional<std::string> body = {};   // a POST if it is set, otherwise a GET
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{20'000};
  std::size_t most_bytes = std::size_t{64} << 10;  // of the answer's body that are read
};

struct HttpAnswer {
  int status = 0;  // 0: no answer, and `error` says why
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
  std::string error;              // curl's text without the address, which may be a secret
  bool is_misconfigured = false;  // no answer, and none will come: the certificate is not trusted
};

// The head of the answer decides: its status counts even if the body breaks off. Redirects are not followed, because
// the request is meant only for the named host. Requests to this host go through no proxy. Throws std::runtime_error
// only if libcurl cannot be used.
HttpAnswer send_http(const HttpRequest& request);

// Whether the same request may succeed later: no answer, 408, 429 and 5xx.
bool is_worth_another_try(const HttpAnswer& answer);

}  // namespace perfbench::harness
