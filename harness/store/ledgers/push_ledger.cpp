#include "harness/store/ledgers/push_ledger.h"

namespace perfbench::harness {
namespace {

const std::string kPushes = "SELECT sha256, machine, received_utc, bytes, added, present FROM pushes ";

Push read_push(const Statement& row) {
  return {.sha256 = row.text(0),
          .machine = row.text(1),
          .received_utc = row.text(2),
          .bytes = row.integer(3),
          .added = row.integer(4),
          .present = row.integer(5)};
}

}  // namespace

std::int64_t last_attempt_key(const Connection& db) {
  Statement row(db, "SELECT ifnull(max(attempt_key), 0) FROM attempts");
  row.step();
  return row.integer(0);
}

void record_push(Connection& db, const Push& push, std::int64_t last_attempt) {
  Statement(db, "INSERT INTO pushes (sha256, machine, received_utc, bytes, added, present) VALUES (?, ?, ?, ?, ?, ?)")
      .run(push.sha256, push.machine, push.received_utc, push.bytes, push.added, push.present);
  Statement(db, "INSERT INTO pushed_attempts SELECT attempt_key, ? FROM attempts WHERE attempt_key > ?")
      .run(db.last_insert_key(), last_attempt);
}

std::optional<Push> find_push(const Connection& db, const std::string& sha256) {
  Statement row(db, kPushes + "WHERE sha256 = ?");
  row.bind(1, std::string_view(sha256));
  return row.step() ? std::optional(read_push(row)) : std::nullopt;
}

}  // namespace perfbench::harness
