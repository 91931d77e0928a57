#include "harness/app/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <strings.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace perfbench::harness {
namespace {

std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

bool is_loopback(std::string host) {
  if (::strcasecmp(host.c_str(), "localhost") == 0) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24U == 127;
  if (!host.starts_with('[') || !host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

struct Received {
  bool has_head = false;
  std::size_t most_bytes = 0;
  std::string body;
};

// Called with each line of a head; an empty line ends the head. The head of a 1xx is followed by another one.
std::size_t note_head(char* line, std::size_t size, std::size_t count, void* received) {
  const std::string_view text(line, size * count);
  auto& noted = *static_cast<Received*>(received);
  if (text.starts_with("HTTP/")) noted.has_head = false;
  if (text == "\r\n" || text == "\n") noted.has_head = true;
  return text.size();
}

// Accepting fewer bytes than offered ends the transfer.
std::size_t note_body(char* bytes, std::size_t size, std::size_t count, void* received) {
  auto& noted = *static_cast<Received*>(received);
  if (noted.body.size() + size * count > noted.most_bytes) return 0;
  noted.body.append(bytes, size * count);
  return size * count;
}

// curl has state for the whole process.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error("[http] cannot initialise libcurl");
}

class Headers {
 public:
  ~Headers() { curl_slist_free_all(list_); }
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  void add(const std::string& line) {
    auto* longer = curl_slist_append(list_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    list_ = longer;
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

template <class T>
void set(CURL* request, CURLoption option, T value) {
  const auto code = curl_easy_setopt(request, option, value);
  if (code != CURLE_OK) throw std::runtime_error(std::string("[http] libcurl: ") + curl_easy_strerror(code));
}

}  // namespace

std::optional<HttpAddress> parse_http_address(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
  return HttpAddress{.scheme = url_part(url.get(), CURLUPART_SCHEME),
                     .is_loopback = is_loopback(url_part(url.get(), CURLUPART_HOST))};
}

HttpAnswer send_http(const HttpRequest& request) {
  initialise_curl();
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
  if (!easy) throw std::runtime_error("[http] libcurl cannot create a handle");
  auto* handle = easy.get();
  Headers headers;
  headers.add("Expect:");  // avoids a round trip before the body
  for (const auto& line : request.headers) headers.add(line);
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  if (request.body) {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
    set(handle, CURLOPT_POSTFIELDS, request.body->data());
  }
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect.count()));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total.count()));
  if (const auto address = parse_http_address(request.url); address && address->is_loopback) {
    set(handle, CURLOPT_PROXY, "");  // no proxy, whatever the environment says
  }
  // Where curl has a file of its own, it does not look at this variable of OpenSSL.
  const char* authorities = std::getenv("SSL_CERT_FILE");
  if (authorities != nullptr && *authorities != '\0') set(handle, CURLOPT_CAINFO, authorities);
  Received received{.most_bytes = request.most_bytes};
  set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(handle, CURLOPT_HEADERFUNCTION, &note_head);
  set(handle, CURLOPT_HEADERDATA, &received);
  set(handle, CURLOPT_WRITEFUNCTION, &note_body);
  set(handle, CURLOPT_WRITEDATA, &received);
  set(handle, CURLOPT_USERAGENT, "perfbench");
  const auto code = curl_easy_perform(handle);
  HttpAnswer out{.body = std::move(received.body)};
  // Only the text of the code, because curl's longer message names the host.
  if (code != CURLE_OK) out.error = curl_easy_strerror(code);
  out.is_misconfigured = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  if (code != CURLE_OK && !received.has_head) return out;
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  out.status = static_cast<int>(status);
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) out.retry_after = std::chrono::seconds(seconds);
  return out;
}

bool is_worth_another_try(const HttpAnswer& answer) {
  // A 1xx announces an answer that did not arrive.
  return answer.status < 200 || answer.status == 408 || answer.status == 429 || answer.status >= 500;
}

}  // namespace perfbench::harness
