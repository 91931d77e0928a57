// An alert in words: the phrases that every output shares.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/store/ledgers/alert_outbox.h"
#include "reports/render/document/document.h"
#include "reports/render/format/escape.h"

namespace perfbench::reports {

std::string change_text(const harness::Finding& finding);   // "+5.0 % (95 %: +3.0 % to +7.0 %)"; kNothing without
std::string subject_text(const harness::Finding& finding);  // "regression of step_time_s in nightly, model=a"
std::string range_text(const harness::Finding& finding);    // "rev09..rev10", kNothing where a side is unknown
std::string range_text(const harness::AlertGroup& group);
std::string facts_text(const harness::Finding& finding);  // "kernel 6.1 -> 6.5; ..."; empty without a change
// The three largest lines: "gemm +3.50 ms (70.0 %), idle +1.50 ms (30.0 %)"; empty without any.
std::string attribution_text(const harness::Finding& finding);

// What became of messages to the webhook, for a terminal.
// "2 messages delivered, 1 waiting (HTTP status 503, 3 tries), 0 given up"; says so when no webhook is set.
Plain delivery_text(const harness::OutboxReport& report);

// Alerts for people and for programs. What a nightly job shows elsewhere is checks.h, checks.h and webhook_body.h.
// A section each commit range: a row each alert, then what explains it. `level` of the title; sections are one below.
void add_alerts(Document& document, const std::vector<harness::AlertGroup>& groups, int level);

// The same for itself. CSV has a line each alert; JSON is {"groups": [{"good_revision", "bad_revision", "environment",
// "alerts": [...]}]}, numbers raw.
Document alerts_document(const std::vector<harness::AlertGroup>& groups);

// Everything of one alert, with its history; for programs as alerts_document.
Document alert_document(const harness::Alert& alert);

}  // namespace perfbench::reports
