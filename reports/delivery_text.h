// What became of messages to the webhook, for a terminal.
#pragma once

#include "harness/alerts/outbox.h"
#include "reports/format/escaped_text.h"

namespace perfbench::reports {

// "2 messages delivered, 1 waiting (HTTP status 503, 3 tries), 0 given up"; says so when no webhook is set.
Plain delivery_text(const harness::OutboxReport& report);

}  // namespace perfbench::reports
