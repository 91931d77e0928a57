#include "harness/store/ledgers/alert_ledger.h"

#include <algorithm>

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"

namespace perfbench::harness {
namespace {

constexpr const char* kColumns =
    "alert_id, kind, matrix, cell, run_id, metric, machine_fingerprint, ratio, ratio_low, ratio_high, "
    "good_sweep_id, good_started_utc, good_revision, bad_sweep_id, bad_started_utc, bad_revision, seen_utc, detail, "
    "reopens";
constexpr std::size_t kIdDigits = 12;
constexpr std::size_t kShortestIdStart = 4;

std::optional<double> number(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.real(column);
}

// If one alert speaks for several findings, the first one gives it its numbers.
std::vector<Finding> largest_first(std::vector<Finding> findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return size_of(a) > size_of(b); });
  return findings;
}

// Reads alerts with the rows that belong to them; prepares its statements once.
class AlertReader {
 public:
  explicit AlertReader(const Connection& db)
      : db_(db),
        events_(db,
                "SELECT from_state, to_state, author, reason, at_utc FROM alert_events WHERE alert_key = ? "
                "ORDER BY at_utc, event_key"),
        environment_(db, "SELECT fact, before, after FROM alert_environment WHERE alert_key = ? ORDER BY fact"),
        attribution_(db, "SELECT name, ns, share FROM alert_attribution WHERE alert_key = ? ORDER BY position"),
        confirmations_(db, "SELECT comparison_id FROM alert_confirmations WHERE alert_key = ? ORDER BY position") {}

  // Throws UnreadableRow.
  Alert read(const Statement& row) {
    const auto key = row.integer(0);
    Alert out;
    out.alert_id = row.text(1);
    auto& finding = out.finding;
    const RowName name{.table = "alerts", .row = "alert_id " + out.alert_id};
    finding.kind = stored_enum<FindingKind>(db_, name, "kind", row.text(2));
    finding.series = {row.text(3), row.text(4), row.text(5), row.text(6), row.text(7)};
    finding.ratio = number(row, 8);
    finding.ratio_low = number(row, 9);
    finding.ratio_high = number(row, 10);
    finding.last_good = {row.text(11), row.text(12), row.text(13)};
    finding.first_bad = {row.text(14), row.text(15), row.text(16)};
    finding.seen_utc = row.text(17);
    finding.detail = row.text(18);
    out.reopens = row.text(19);
    read_parts(key, out);
    if (out.events.empty()) refuse_row(db_, name, "it has no row of alert_events, and therefore no state");
    return out;
  }

 private:
  void read_parts(std::int64_t key, Alert& out) {
    environment_.with(key);
    while (environment_.step()) {
      out.finding.environment.push_back({environment_.text(0), environment_.text(1), environment_.text(2)});
    }
    attribution_.with(key);
    while (attribution_.step()) {
      out.finding.attribution.push_back({attribution_.text(0), attribution_.real(1), attribution_.real(2)});
    }
    confirmations_.with(key);
    while (confirmations_.step()) out.finding.confirmation.push_back(confirmations_.text(0));
    events_.with(key);
    while (events_.step()) {
      const RowName name{.table = "alert_events", .row = "alert_id " + out.alert_id};
      AlertEvent event;
      if (!events_.is_null(0)) event.from = stored_enum<AlertState>(db_, name, "from_state", events_.text(0));
      event.to = stored_enum<AlertState>(db_, name, "to_state", events_.text(1));
      event.author = events_.text(2);
      event.reason = events_.text(3);
      event.at_utc = events_.text(4);
      out.events.push_back(std::move(event));
    }
  }

  const Connection& db_;
  Statement events_;
  Statement environment_;
  Statement attribution_;
  Statement confirmations_;
};

std::string alert_id_of(const Finding& finding, const std::string& reopens, const std::string& now_utc) {
  const auto& s = finding.series;
  std::string text(spec::enum_name(finding.kind));
  for (const auto* part :
       {&s.matrix, &s.cell, &s.run_id, &s.metric, &s.machine, &finding.first_bad.sweep_id, &reopens, &now_utc}) {
    text += "\n" + *part;
  }
  return sha256_hex(text).substr(0, kIdDigits);
}

void insert_event(Connection& db, std::int64_t alert_key, const AlertEvent& event) {
  std::optional<std::string_view> from;
  if (event.from) from = spec::enum_name(*event.from);
  Statement(db,
            "INSERT INTO alert_events (alert_key, from_state, to_state, author, reason, at_utc) "
            "VALUES (?, ?, ?, ?, ?, ?)")
      .run(alert_key, from, spec::enum_name(event.to), event.author, event.reason, event.at_utc);
}

}  // namespace

void add_alert(Connection& db, const Alert& alert) {
  const auto& f = alert.finding;
  const auto& s = f.series;
  Statement(db, std::string("INSERT INTO alerts (") + kColumns +
                    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(alert.alert_id, spec::enum_name(f.kind), s.matrix, s.cell, s.run_id, s.metric, s.machine, f.ratio,
           f.ratio_low, f.ratio_high, f.last_good.sweep_id, f.last_good.started_utc, f.last_good.revision,
           f.first_bad.sweep_id, f.first_bad.started_utc, f.first_bad.revision, f.seen_utc, f.detail, alert.reopens);
  const auto key = db.last_insert_key();
  Statement fact(db, "INSERT INTO alert_environment (alert_key, fact, before, after) VALUES (?, ?, ?, ?)");
  for (const auto& change : f.environment) fact.run(key, change.field, change.left, change.right);
  Statement part(db, "INSERT INTO alert_attribution (alert_key, position, name, ns, share) VALUES (?, ?, ?, ?, ?)");
  std::int64_t position = 0;
  for (const auto& line : f.attribution) part.run(key, position++, line.name, line.ns, line.share);
  Statement confirmation(db, "INSERT INTO alert_confirmations (alert_key, position, comparison_id) VALUES (?, ?, ?)");
  position = 0;
  for (const auto& id : f.confirmation) confirmation.run(key, position++, id);
  for (const auto& event : alert.events) insert_event(db, key, event);
}

std::vector<Alert> load_alerts(const Connection& db, AlertScope scope) {
  std::vector<Alert> out;
  AlertReader reader(db);
  Statement rows(db, std::string("SELECT alert_key, ") + kColumns + " FROM alerts ORDER BY alert_key");
  while (rows.step()) {
    try {
      auto alert = reader.read(rows);
      if (scope == AlertScope::all || is_live(alert.state())) out.push_back(std::move(alert));
    } catch (const UnreadableRow& e) {
      db.leave_out(e.what());
    }
  }
  return out;
}

Alert find_alert(const Connection& db, const std::string& id_start) {
  if (id_start.size() < kShortestIdStart || id_start.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw InputError("[alerts] '" + id_start + "': an alert is named by the first 4 to 12 hex digits of its id, as " +
                     "`perfbench alerts list` prints it");
  }
  // Uses a range and not LIKE, so that the index is used. 'g' follows every hex digit.
  Statement rows(db, std::string("SELECT alert_key, ") + kColumns +
                         " FROM alerts WHERE alert_id >= ?1 AND alert_id < ?1 || 'g' ORDER BY alert_id LIMIT 2");
  rows.with(id_start);
  if (!rows.step()) {
    throw InputError("[alerts] " + db.path().string() + " has no alert whose id begins with " + id_start +
                     "; `perfbench alerts list --state all` prints all");
  }
  const auto found = rows.text(1);
  if (rows.step()) {
    throw InputError("[alerts] several alerts begin with " + id_start + ": " + found + " and " + rows.text(1) +
                     "; give more digits");
  }
  rows.with(id_start).step();
  return AlertReader(db).read(rows);
}

std::optional<Alert> known_alert(const Connection& db, const std::string& alert_id) {
  Statement row(db, std::string("SELECT alert_key, ") + kColumns + " FROM alerts WHERE alert_id = ?");
  if (!row.with(alert_id).step()) return std::nullopt;
  return AlertReader(db).read(row);
}

void add_alert_event(Connection& db, const std::string& alert_id, const AlertEvent& event) {
  const auto key = find_key(db, "SELECT alert_key FROM alerts WHERE alert_id = ?", alert_id);
  insert_event(db, key.value(), event);
}

std::vector<RecordedFinding> record_findings(Connection& db, const std::vector<Finding>& findings,
                                             const std::string& author, const std::string& now_utc) {
  Transaction transaction(db);
  auto alerts = load_alerts(db, AlertScope::all);
  std::vector<RecordedFinding> out;
  for (const auto& finding : largest_first(findings)) {
    const auto place = place_finding(alerts, finding);
    if (place.meaning == FindingMeaning::continues || place.meaning == FindingMeaning::known) {
      out.push_back({place, find_alert(db, place.alert_id)});
      continue;
    }
    Alert alert{
        .alert_id = alert_id_of(finding, place.alert_id, now_utc), .finding = finding, .reopens = place.alert_id};
    alert.events.push_back(
        {.from = {}, .to = AlertState::open, .author = author, .reason = finding.detail, .at_utc = now_utc});
    add_alert(db, alert);
    alerts.push_back(alert);
    out.push_back({place, std::move(alert)});
  }
  transaction.commit();
  return out;
}

Alert change_alert(Connection& db, const std::string& id_start, AlertState to, const std::string& author,
                   const std::string& reason, const std::string& now_utc) {
  Transaction transaction(db);
  auto alert = find_alert(db, id_start);
  alert.events.push_back(transition(alert, to, author, reason, now_utc));
  add_alert_event(db, alert.alert_id, alert.events.back());
  transaction.commit();
  return alert;
}

}  // namespace perfbench::harness
