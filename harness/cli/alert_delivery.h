// New alerts to the webhook, through the outbox: what `alerts deliver` and nightly runs share.
#pragma once

#include <string>
#include <vector>

#include "harness/alerts/alert.h"
#include "harness/alerts/outbox.h"
#include "reports/format/escaped_text.h"

namespace perfbench::harness {

// One message a commit range. Alerts that were queued together before are not queued again.
void queue_alerts(Connection& db, const std::vector<Alert>& alerts, const std::string& now_utc);

// Sends what waits to the webhook of the environment (alerts/webhook.h). Without one nothing is tried and everything
// keeps waiting.
OutboxReport deliver_alerts(Connection& db);

// "2 messages delivered, 1 waiting (HTTP status 503, 3 tries), 0 given up"; says so when no webhook is set.
reports::Plain delivery_text(const OutboxReport& report);

}  // namespace perfbench::harness
