// A message about the alerts of one commit range, as JSON for Slack's incoming webhooks and compatible services.
#pragma once

#include <string>

#include "harness/judge/alert_rules.h"

namespace perfbench::reports {

// {"text": ..., "blocks": [...]}. `text` has everything in one paragraph, for receivers that do not support blocks.
// Stays within Slack's limits (header 150 characters, section 3000 bytes here, 50 blocks) and counts what does not fit.
std::string webhook_body(const harness::AlertGroup& group);

}  // namespace perfbench::reports
