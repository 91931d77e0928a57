#include "harness/store/attempts/attempt_keys.h"

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {

std::optional<std::int64_t> find_attempt(const Connection& db, const AttemptName& name) {
  return find_key(db,
                  "SELECT attempt_key FROM attempts JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) "
                  "WHERE run_id = ? AND sweep_id = ? AND attempt = ? AND attempts.started_utc = ?",
                  name.run_id, name.sweep_id, name.attempt, name.started_utc);
}

std::int64_t attempt_key_of(const Connection& db, const AttemptName& name) {
  if (const auto key = find_attempt(db, name)) return *key;
  throw InputError("[store] " + db.path().string() + " has no attempt with " + to_text(name));
}

AttemptName attempt_name(const Connection& db, std::int64_t attempt_key) {
  Statement row(db,
                "SELECT run_id, sweep_id, attempt, attempts.started_utc FROM attempts JOIN runs USING (run_key) "
                "JOIN sweeps USING (sweep_key) WHERE attempt_key = ?");
  if (row.with(attempt_key).step()) return {row.text(0), row.text(1), row.integer(2), row.text(3)};
  refuse_row(db, {"attempts", "attempt_key " + std::to_string(attempt_key)}, "it, its run or its sweep is missing");
}

}  // namespace perfbench::harness
