// Alerts for people and for programs. What a nightly job shows elsewhere is junit.h, annotations.h and webhook_body.h.
#pragma once

#include <string>
#include <vector>

#include "harness/alerts/alert_rules.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

// A summary: one section a commit range, one table row an alert, then what explains it.
Markdown alerts_markdown(const std::vector<harness::AlertGroup>& groups);

// Everything of one alert, with its history.
Markdown alert_markdown(const harness::Alert& alert);

// {"groups": [{"good_revision", "bad_revision", "environment", "alerts": [...]}]}; numbers are raw.
std::string alerts_json(const std::vector<harness::AlertGroup>& groups);

}  // namespace perfbench::reports
