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

// By the start of its id, at least 4 digits. Throws InputError when none or several fit.
Alert find_alert(const Connection& db, const std::string& id_start);

// By its whole id; nothing where there is none. Throws UnreadableRow (stored_row.h).
std::optional<Alert> known_alert(const Connection& db, const std::string& alert_id);

// One that another database has, as it is there; its id is new here. Call them within a transaction.
void add_alert(Connection& db, const Alert& alert);
void add_alert_event(Connection& db, const std::string& alert_id, const AlertEvent& event);

struct RecordedFinding {
  FindingPlace place;
  Alert alert;  // the new one, or the one that it belongs to
};
// Opens an alert for each finding that needs one (place_finding), the largest first, all in one transaction. `author`
// is who looked: a person, or "perfbench nightly".
std::vector<RecordedFinding> record_findings(Connection& db, const std::vector<Finding>& findings,
                                             const std::string& author, const std::string& now_utc);

// Changes its state and returns it as it is now. Throws InputError as transition() does; another process may have
// changed it first, which counts.
Alert change_alert(Connection& db, const std::string& id_start, AlertState to, const std::string& author,
                   const std::string& reason, const std::string& now_utc);

}  // namespace perfbench::harness
