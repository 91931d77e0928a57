#include "harness/app/night/alert_delivery.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <strings.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "harness/system/input_error.h"
#include "harness/system/sha256.h"

namespace perfbench::harness {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Null for text that is not an address.
Url parsed(const std::string& text) {
  Url url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

// Whether messages to this host never leave the machine.
bool is_loopback(std::string host) {
  if (::strcasecmp(host.c_str(), "localhost") == 0) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24U == 127;
  if (!host.starts_with('[') || !host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

void check_target(const WebhookTarget& target) {
  const auto url = parsed(target.url);
  const auto scheme = url ? part_of(url.get(), CURLUPART_SCHEME) : "";
  if (scheme != "http" && scheme != "https") {
    throw InputError(std::string("[webhook] ") + kWebhookUrlVariable +
                     " is not an address that begins with https:// or http:// (its value is not shown)");
  }
  if (target.token.find_first_of("\r\n") != std::string::npos) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " contains a line break (its value is not shown): set it to only the token");
  }
  if (!target.token.empty() && scheme == "http" && !is_loopback(part_of(url.get(), CURLUPART_HOST))) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " would cross the network unprotected: give an https:// address in " + kWebhookUrlVariable);
  }
}

constexpr std::size_t kBodyLimitBytes = std::size_t{64} << 10;

struct Answer {
  bool has_head = false;
  std::size_t body_bytes = 0;
};

// Called with each line of a head; an empty line ends the head. The head of a 1xx is followed by another one.
std::size_t note_head(char* line, std::size_t size, std::size_t count, void* answer) {
  const std::string_view text(line, size * count);
  auto& noted = *static_cast<Answer*>(answer);
  if (text.starts_with("HTTP/")) noted.has_head = false;
  if (text == "\r\n" || text == "\n") noted.has_head = true;
  return text.size();
}

// The body of the answer is of no use, and might repeat a secret. Accepting fewer bytes than offered ends the transfer.
std::size_t drop_body(char*, std::size_t size, std::size_t count, void* answer) {
  auto& bytes = static_cast<Answer*>(answer)->body_bytes;
  bytes += size * count;
  return bytes > kBodyLimitBytes ? 0 : size * count;
}

// curl has state for the whole process.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error("[webhook] cannot initialise libcurl");
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
  if (code != CURLE_OK) throw std::runtime_error(std::string("[webhook] libcurl: ") + curl_easy_strerror(code));
}

DeliveryResult judge(CURL* request) {
  long status = 0;
  curl_easy_getinfo(request, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  DeliveryResult out{.outcome = DeliveryOutcome::refused, .error = "HTTP status " + std::to_string(status)};
  if (status >= 300 && status < 400) out.error += ": a redirect, which is not followed; set the final address";
  if (status < 200 || status == 408 || status == 429 ||
      status >= 500) {  // a 1xx announces an answer that did not arrive
    out.outcome = DeliveryOutcome::try_again;
    curl_off_t seconds = 0;
    curl_easy_getinfo(request, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) out.retry_after = std::chrono::seconds(seconds);
  }
  return out;
}

}  // namespace

std::optional<WebhookTarget> webhook_from_environment() {
  WebhookTarget out{.url = environment(kWebhookUrlVariable), .token = environment(kWebhookTokenVariable)};
  if (out.url.empty()) return std::nullopt;
  check_target(out);
  return out;
}

DeliveryResult post_to_webhook(const WebhookTarget& target, const std::string& body, const std::string& message_id,
                               const WebhookLimits& limits) {
  initialise_curl();
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> request(curl_easy_init(), &curl_easy_cleanup);
  if (!request) throw std::runtime_error("[webhook] libcurl cannot create a handle");
  Headers headers;
  headers.add("Content-Type: application/json");
  headers.add("Idempotency-Key: " + message_id);
  headers.add("Expect:");  // avoids a round trip before the body
  if (!target.token.empty()) headers.add("Authorization: Bearer " + target.token);
  auto* handle = request.get();
  set(handle, CURLOPT_URL, target.url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(handle, CURLOPT_POSTFIELDS, body.c_str());
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total.count()));
  if (const auto url = parsed(target.url); url && is_loopback(part_of(url.get(), CURLUPART_HOST))) {
    set(handle, CURLOPT_PROXY, "");  // no proxy, whatever the environment says
  }
  Answer answer;
  set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(handle, CURLOPT_HEADERFUNCTION, &note_head);
  set(handle, CURLOPT_HEADERDATA, &answer);
  set(handle, CURLOPT_WRITEFUNCTION, &drop_body);
  set(handle, CURLOPT_WRITEDATA, &answer);
  set(handle, CURLOPT_USERAGENT, "perfbench");
  const auto code = curl_easy_perform(handle);
  if (code == CURLE_OK || answer.has_head) return judge(handle);
  // Only the text of the code, because curl's longer message names the host.
  return {.outcome = DeliveryOutcome::try_again, .error = curl_easy_strerror(code)};
}

void queue_alerts(Connection& db, const std::vector<Alert>& alerts, const AlertMessage& message,
                  const std::string& now_utc) {
  for (const auto& group : group_by_range(alerts)) {
    std::string ids;
    for (const auto& alert : group.alerts) ids += alert.alert_id + "\n";
    queue_message(db, sha256_hex(ids).substr(0, 32), message(group), now_utc);
  }
}

OutboxReport deliver_alerts(Connection& db) {
  const auto target = webhook_from_environment();
  if (!target) return {.delivered = 0, .waiting = load_outbox(db, MessageState::waiting), .given_up = {}};
  const Deliver deliver = [&](const std::string& body, const std::string& message_id) {
    return post_to_webhook(*target, body, message_id);
  };
  return deliver_outbox(db, deliver, system_outbox_clock());
}

}  // namespace perfbench::harness
