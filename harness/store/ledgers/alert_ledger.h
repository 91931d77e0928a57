// Alerts in the store (tables alerts, alert_events, alert_environment, alert_attribution, alert_confirmations). Rows
// are added and never changed: the state of an alert is that of its newest event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/records/alert.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

enum class AlertScope { live, all };

// Oldest first.
std::vector<Alert> load_alerts(const Connection& db, AlertScope scope);

// Finds an alert by the start of its id, at least 4 digits. Throws InputError if no alert or several alerts match.
Alert find_alert(const Connection& db, const std::string& id_start);

// Finds an alert by its whole id; nullopt if there is none. Throws UnreadableRow (stored_row.h).
std::optional<Alert> known_alert(const Connection& db, const std::string& alert_id);

// Adds an alert of another database unchanged; its id must be new here. Call them inside a transaction.
void add_alert(Connection& db, const Alert& alert);
void add_alert_event(Connection& db, const std::string& alert_id, const AlertEvent& event);

struct RecordedFinding {
  FindingPlace place;
  Alert alert;  // the new alert, or the one to which the finding belongs
};
// Opens an alert for each finding that needs one (place_finding), the largest first, all in one transaction. `author`
// is the person who looked, or "perfbench nightly".
std::vector<RecordedFinding> record_findings(Connection& db, const std::vector<Finding>& findings,
                                             const std::string& author, const std::string& now_utc);

// Changes the state of an alert and returns the alert with its new state. Throws InputError as transition() does. If
// another process changed it first, that change counts.
Alert change_alert(Connection& db, const std::string& id_start, AlertState to, const std::string& author,
                   const std::string& reason, const std::string& now_utc);

}  // namespace perfbench::harness
