// Alerts for people and for programs. What a nightly job shows elsewhere is junit.h, annotations.h and webhook_body.h.
#pragma once

#include <vector>

#include "harness/alerts/alert_rules.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// A section each commit range: a row each alert, then what explains it. `level` of the title; sections are one below.
void add_alerts(Document& document, const std::vector<harness::AlertGroup>& groups, int level);

// The same for itself. CSV has a line each alert; JSON is {"groups": [{"good_revision", "bad_revision", "environment",
// "alerts": [...]}]}, numbers raw.
Document alerts_document(const std::vector<harness::AlertGroup>& groups);

// Everything of one alert, with its history; for programs as alerts_document.
Document alert_document(const harness::Alert& alert);

}  // namespace perfbench::reports
