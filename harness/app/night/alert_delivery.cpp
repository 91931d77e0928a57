#include "harness/app/night/alert_delivery.h"

#include <cstdlib>

#include "harness/app/http_client.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"

namespace perfbench::harness {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void check_target(const WebhookTarget& target) {
  const auto address = parse_http_address(target.url);
  if (!address || (address->scheme != "http" && address->scheme != "https")) {
    throw InputError(std::string("[webhook] ") + kWebhookUrlVariable +
                     " is not an address that begins with https:// or http:// (its value is not shown)");
  }
  if (target.token.find_first_of("\r\n") != std::string::npos) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " contains a line break (its value is not shown): set it to only the token");
  }
  if (!target.token.empty() && address->scheme == "http" && !address->is_loopback) {
    throw InputError(std::string("[webhook] ") + kWebhookTokenVariable +
                     " would cross the network unprotected: give an https:// address in " + kWebhookUrlVariable);
  }
}

DeliveryResult judge(const HttpAnswer& answer) {
  if (answer.status == 0) return {.outcome = DeliveryOutcome::try_again, .error = answer.error};
  if (answer.status >= 200 && answer.status < 300) return {};
  DeliveryResult out{.outcome = DeliveryOutcome::refused, .error = "HTTP status " + std::to_string(answer.status)};
  if (answer.status >= 300 && answer.status < 400) {
    out.error += ": a redirect, which is not followed; set the final address";
  }
  if (is_worth_another_try(answer)) {
    out.outcome = DeliveryOutcome::try_again;
    out.retry_after = answer.retry_after;
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
  HttpRequest request{.url = target.url,
                      .headers = {"Content-Type: application/json", "Idempotency-Key: " + message_id},
                      .body = body,
                      .connect = limits.connect,
                      .total = limits.total};
  if (!target.token.empty()) request.headers.push_back("Authorization: Bearer " + target.token);
  return judge(send_http(request));
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
