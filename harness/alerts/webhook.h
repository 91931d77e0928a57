// Sends a message to a webhook: one HTTP POST of JSON. The address and the token are secrets: they come from the
// environment, and no message, record or error holds them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "harness/alerts/outbox.h"

namespace perfbench::harness {

inline constexpr const char* kWebhookUrlVariable = "PERFBENCH_WEBHOOK_URL";
inline constexpr const char* kWebhookTokenVariable = "PERFBENCH_WEBHOOK_TOKEN";

struct WebhookTarget {
  std::string url;
  std::string token;  // sent as "Authorization: Bearer"; empty: none
};

// Nothing without kWebhookUrlVariable. Throws InputError for an address that is neither http nor https, for a token
// that would cross a network without TLS (http to another host than this one), and for one that holds a line break.
std::optional<WebhookTarget> webhook_from_environment();

struct WebhookLimits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{20'000};
};

// Acknowledged by any 2xx. Redirects are not followed: the body and the token are for the host that was named. Worth
// another try: no connection, no answer in time, 408, 429 and 5xx; everything else is refused. The id of the message
// goes along as Idempotency-Key.
DeliveryResult post_to_webhook(const WebhookTarget& target, const std::string& body, const std::string& message_id,
                               const WebhookLimits& limits = {});

}  // namespace perfbench::harness
