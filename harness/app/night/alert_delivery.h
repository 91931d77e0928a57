// Sends a message to a webhook: one HTTP POST of JSON. The address and the token are secrets. They come from the
// environment, and never get into a message, a record, an error or a process that the harness starts.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/store/ledgers/alert_outbox.h"
#include "harness/system/environment_variables.h"

namespace perfbench::harness {

struct WebhookTarget {
  std::string url;
  std::string token;  // sent as "Authorization: Bearer"; empty: not sent
};

// nullopt without kWebhookUrlVariable. Throws InputError for an address that is neither http nor https, for a token
// that would cross a network without TLS (http to another host than this one), and for a token with a line break. This
// host is localhost, 127.0.0.0/8 and [::1].
std::optional<WebhookTarget> webhook_from_environment();

struct WebhookLimits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds total{20'000};
};

// The head of the answer decides. A 2xx acknowledges: the message is delivered and never sent again, whatever happens
// to the body, which is read and dropped until it ends, reaches 64 KiB, or the total time limit has passed. Worth
// another try: no connection, no head in time, 408, 429 and 5xx; everything else is a refusal. Redirects are not
// followed, because the body and the token are meant only for the named host. Messages to this host go through no
// proxy, which would see the token. The id of the message is sent as Idempotency-Key.
DeliveryResult post_to_webhook(const WebhookTarget& target, const std::string& body, const std::string& message_id,
                               const WebhookLimits& limits = {});

// Sends new alerts to the webhook through the outbox, for `alerts deliver` and nightly runs.
using AlertMessage = std::function<std::string(const AlertGroup&)>;  // makes the body of a message

// Queues one message for each commit range. Alerts that were queued together before are not queued again.
void queue_alerts(Connection& db, const std::vector<Alert>& alerts, const AlertMessage& message,
                  const std::string& now_utc);

// Sends waiting messages to the webhook that the environment names. Without one, nothing is tried and everything keeps
// waiting.
OutboxReport deliver_alerts(Connection& db);

}  // namespace perfbench::harness
