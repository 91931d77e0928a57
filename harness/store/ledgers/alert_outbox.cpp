#include "harness/store/ledgers/alert_outbox.h"

#include <algorithm>
#include <thread>

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

// Longer than one try including its wait, so that no other process sends the message meanwhile.
constexpr const char* kHold = "+180 seconds";

OutboxMessage read_message(const Connection& db, const Statement& row) {
  return {.message_id = row.text(0),
          .body = row.text(1),
          .created_utc = row.text(2),
          .state = stored_enum<MessageState>(db, {"alert_outbox", "message_id " + row.text(0)}, "state", row.text(3)),
          .tries = row.integer(4),
          .last_error = row.text(5),
          .ended_utc = row.text(6)};
}

// Reserves the message, or extends the reservation. Returns false if another process has reserved or already handled
// it.
bool hold(Connection& db, const OutboxMessage& message, std::int64_t tries_seen, const std::string& now_utc) {
  Statement(db,
            "UPDATE alert_outbox SET held_until_utc = strftime('%Y-%m-%dT%H:%M:%SZ', ?2, ?3) "
            "WHERE message_id = ?1 AND state = 'waiting' AND tries = ?4 AND (held_until_utc <= ?2 OR ?5)")
      .run(message.message_id, now_utc, std::string_view(kHold), tries_seen, std::int64_t{tries_seen != message.tries});
  return db.changes() == 1;
}

// Records the result of a try, and releases the message after the last try of this call.
void note_try(Connection& db, const OutboxMessage& message, const std::string& now_utc) {
  const bool ended = message.state != MessageState::waiting;
  std::optional<std::string_view> ended_utc;
  if (ended) ended_utc = now_utc;
  Statement(db, "UPDATE alert_outbox SET state = ?2, tries = ?3, last_error = ?4, ended_utc = ?5 WHERE message_id = ?1")
      .run(message.message_id, spec::enum_name(message.state), message.tries, message.last_error, ended_utc);
}

void let_go(Connection& db, const OutboxMessage& message) {
  Statement(db, "UPDATE alert_outbox SET held_until_utc = '' WHERE message_id = ?").run(message.message_id);
}

struct Sending {
  Connection& db;
  const Deliver& deliver;
  const OutboxClock& clock;
  const RetryPolicy& policy;
};

// Tries one message as often as a call may. Returns the outcome of the last try; nullopt if another process has the
// message.
std::optional<DeliveryOutcome> send(const Sending& sending, OutboxMessage& message) {
  const auto& policy = sending.policy;
  const auto known = message;
  auto pause = policy.first_wait;
  for (std::int64_t i = 1;; ++i) {
    if (!hold(sending.db, known, message.tries, sending.clock.now_utc())) return std::nullopt;
    const auto result = sending.deliver(message.body, message.message_id);
    ++message.tries;
    message.last_error = result.error;
    if (result.outcome == DeliveryOutcome::acknowledged) {
      message.state = MessageState::delivered;
    } else if (message.tries >= policy.most_tries) {
      message.state = MessageState::given_up;
    }
    note_try(sending.db, message, sending.clock.now_utc());
    const bool again = result.outcome == DeliveryOutcome::try_again && message.state == MessageState::waiting;
    if (!again || i == policy.tries_a_call) {
      let_go(sending.db, message);
      return result.outcome;
    }
    sending.clock.wait(std::min(policy.longest_wait, std::max(pause, result.retry_after.value_or(pause))));
    pause *= 2;
  }
}

}  // namespace

OutboxClock system_outbox_clock() {
  return {.now_utc = utc_now, .wait = [](std::chrono::seconds time) { std::this_thread::sleep_for(time); }};
}

bool queue_message(Connection& db, const std::string& message_id, const std::string& body, const std::string& now_utc) {
  Statement(db,
            "INSERT INTO alert_outbox (message_id, created_utc, body, state, tries, last_error, held_until_utc) "
            "VALUES (?, ?, ?, 'waiting', 0, '', '') ON CONFLICT (message_id) DO NOTHING")
      .run(message_id, now_utc, body);
  return db.changes() == 1;
}

OutboxReport deliver_outbox(Connection& db, const Deliver& deliver, const OutboxClock& clock,
                            const RetryPolicy& policy) {
  OutboxReport report;
  const Sending sending{.db = db, .deliver = deliver, .clock = clock, .policy = policy};
  for (auto& message : load_outbox(db, MessageState::waiting)) {
    const auto outcome = send(sending, message);
    if (!outcome) continue;
    if (message.state == MessageState::delivered) ++report.delivered;
    if (message.state == MessageState::given_up) report.given_up.push_back(message);
    if (outcome == DeliveryOutcome::try_again) break;
  }
  report.waiting = load_outbox(db, MessageState::waiting);
  return report;
}

std::vector<OutboxMessage> load_outbox(const Connection& db, MessageState state) {
  Statement rows(db,
                 "SELECT message_id, body, created_utc, state, tries, last_error, coalesce(ended_utc, '') "
                 "FROM alert_outbox WHERE state = ? ORDER BY message_key");
  rows.with(spec::enum_name(state));
  std::vector<OutboxMessage> out;
  while (rows.step()) out.push_back(read_message(db, rows));
  return out;
}

}  // namespace perfbench::harness
