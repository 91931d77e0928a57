#include "harness/app/alert_delivery.h"

#include "harness/alerts/webhook.h"
#include "harness/identity/sha256.h"

namespace perfbench::harness {

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
