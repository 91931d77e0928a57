// A message about the alerts of one commit range: JSON as Slack's incoming webhooks take it, and what is compatible.
#pragma once

#include <string>

#include "harness/judge/alert_rules.h"

namespace perfbench::reports {

// {"text": ..., "blocks": [...]}: `text` says it all in one paragraph for receivers that know no blocks. Kept within
// Slack's limits (header 150 characters, section 3000 bytes here, 50 blocks); what does not fit is counted.
std::string webhook_body(const harness::AlertGroup& group);

}  // namespace perfbench::reports
