// An alert in words: the phrases that all outputs share.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/store/ledgers/alert_outbox.h"
#include "reports/content/headline.h"
#include "reports/render/document/document.h"
#include "reports/render/format/escape.h"

namespace perfbench::reports {

std::string change_text(
    const harness::Finding& finding);  // "+5.0 % (95 %: +3.0 % to +7.0 %)"; kNothing without a ratio
ChangeTexts change_texts(const harness::Finding& finding);
std::string subject_text(const harness::Finding& finding);  // "regression of step_time_s in nightly, model=a"
std::string range_text(const harness::Finding& finding);    // "rev09..rev10"; kNothing if a side is unknown
std::string range_text(const harness::AlertGroup& group);
std::string facts_text(const harness::Finding& finding);  // "kernel 6.1 -> 6.5; ..."; empty if nothing changed
// The three largest lines: "gemm +3.50 ms (70.0 %), idle +1.50 ms (30.0 %)"; empty if there are none.
std::string attribution_text(const harness::Finding& finding);

// The delivery of messages to the webhook, for a terminal: "2 messages delivered, 1 waiting (HTTP status 503, 3 tries),
// 0 given up". Says so if no webhook is set.
Plain delivery_text(const harness::OutboxReport& report);

// Alerts for people and for programs. checks.h and webhook_body.h have the formats of a nightly job for other services.
// There is a section for each commit range: a row for each alert, then the facts that explain it. `level` is the level
// of the title; sections are one below.
void add_alerts(Document& document, const std::vector<harness::AlertGroup>& groups, int level);

// The same as a document. CSV has a line for each alert. JSON is {"groups": [{"good_revision", "bad_revision",
// "environment", "alerts": [...]}]} with raw numbers.
Document alerts_document(const std::vector<harness::AlertGroup>& groups);

// One alert with all its facts and its history; for programs the same as alerts_document.
Document alert_document(const harness::Alert& alert);

}  // namespace perfbench::reports
