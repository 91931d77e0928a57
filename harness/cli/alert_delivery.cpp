#include "harness/cli/alert_delivery.h"

#include <fmt/core.h>

#include "harness/alerts/webhook.h"
#include "harness/matrix/run_id.h"
#include "reports/webhook_body.h"

namespace perfbench::harness {

using reports::Plain;

void queue_alerts(Connection& db, const std::vector<Alert>& alerts, const std::string& now_utc) {
  for (const auto& group : group_by_range(alerts)) {
    std::string ids;
    for (const auto& alert : group.alerts) ids += alert.alert_id + "\n";
    queue_message(db, sha256_hex(ids).substr(0, 32), reports::webhook_body(group), now_utc);
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

Plain delivery_text(const OutboxReport& report) {
  auto out = Plain::format("{} messages delivered, {} waiting", report.delivered, report.waiting.size());
  if (!report.waiting.empty()) {
    const auto& first = report.waiting.front();
    out += first.tries == 0 ? Plain::format(" (set {} to send them)", kWebhookUrlVariable)
                            : Plain::format(" ({}, {} tries)", first.last_error, first.tries);
  }
  out += Plain::format(", {} given up\n", report.given_up.size());
  for (const auto& message : report.given_up) {
    out += Plain::format("given up after {} tries: message {} of {}: {}\n", message.tries, message.message_id,
                         message.created_utc, message.last_error);
  }
  return out;
}

}  // namespace perfbench::harness
