// New alerts to the webhook, through the outbox: what `alerts deliver` and nightly runs share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/alerts/alert_rules.h"
#include "harness/alerts/outbox.h"

namespace perfbench::harness {

using AlertMessage = std::function<std::string(const AlertGroup&)>;  // the body of one

// One message a commit range. Alerts that were queued together before are not queued again.
void queue_alerts(Connection& db, const std::vector<Alert>& alerts, const AlertMessage& message,
                  const std::string& now_utc);

// Sends what waits to the webhook of the environment (alerts/webhook.h). Without one nothing is tried and everything
// keeps waiting.
OutboxReport deliver_alerts(Connection& db);

}  // namespace perfbench::harness
