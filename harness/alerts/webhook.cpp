#include "harness/alerts/webhook.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "harness/input_error.h"

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

void check_target(const WebhookTarget& target) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  const bool parsed = curl_url_set(url.get(), CURLUPART_URL, target.url.c_str(), 0) == CURLUE_OK;
  const auto scheme = part_of(url.get(), CURLUPART_SCHEME);
  const auto host = part_of(url.get(), CURLUPART_HOST);
  if (!parsed || (scheme != "http" && scheme != "https")) {
    throw InputError(std::string("[webhook] ") + kWebhookUrlVariable +
                     " is not an address that begins with https:// or http:// (its value is not shown)");
  }
  if (target.token.find_first_of("\r\n") != std::string::npos) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " holds a line break (its value is not shown): set it to the token alone");
  }
  const bool here = host == "localhost" || host == "127.0.0.1" || host == "[::1]";
  if (!target.token.empty() && scheme == "http" && !here) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " would cross the network unprotected: give an https:// address in " + kWebhookUrlVariable);
  }
}

// What the receiver answers is of no use, and might repeat a secret.
std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

// curl keeps state of its own for the whole process.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error("[webhook] libcurl cannot be initialised");
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
  if (status == 408 || status == 429 || status >= 500) {
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
  if (!request) throw std::runtime_error("[webhook] libcurl gives no handle");
  Headers headers;
  headers.add("Content-Type: application/json");
  headers.add("Idempotency-Key: " + message_id);
  headers.add("Expect:");  // no round trip before the body
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
  set(handle, CURLOPT_WRITEFUNCTION, &drop);
  set(handle, CURLOPT_USERAGENT, "perfbench");
  const auto code = curl_easy_perform(handle);
  if (code == CURLE_OK) return judge(handle);
  // The words of the code alone: curl's longer message names the host.
  return {.outcome = DeliveryOutcome::try_again, .error = curl_easy_strerror(code)};
}

}  // namespace perfbench::harness
