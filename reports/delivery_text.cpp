#include "reports/delivery_text.h"

#include "harness/alerts/webhook.h"

namespace perfbench::reports {

Plain delivery_text(const harness::OutboxReport& report) {
  auto out = Plain::format("{} messages delivered, {} waiting", report.delivered, report.waiting.size());
  if (!report.waiting.empty()) {
    const auto& first = report.waiting.front();
    out += first.tries == 0 ? Plain::format(" (set {} to send them)", harness::kWebhookUrlVariable)
                            : Plain::format(" ({}, {} tries)", first.last_error, first.tries);
  }
  out += Plain::format(", {} given up\n", report.given_up.size());
  for (const auto& message : report.given_up) {
    out += Plain::format("given up after {} tries: message {} of {}: {}\n", message.tries, message.message_id,
                         message.created_utc, message.last_error);
  }
  return out;
}

}  // namespace perfbench::reports
