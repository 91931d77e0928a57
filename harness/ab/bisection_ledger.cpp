#include "harness/ab/bisection_ledger.h"

#include "harness/evidence/utc.h"

namespace perfbench::harness {

std::int64_t begin_bisection(Connection& db, const BisectionRecord& bisection) {
  Statement(db, "INSERT INTO bisections (matrix, metric, good_commit, bad_commit, started_utc) VALUES (?, ?, ?, ?, ?)")
      .run(bisection.matrix, bisection.metric, bisection.good_commit, bisection.bad_commit, utc_now());
  return db.last_insert_key();
}

void add_bisection_step(Connection& db, std::int64_t key, std::int64_t step, const BisectionStepRecord& record) {
  Statement(db, "INSERT INTO bisection_steps VALUES (?, ?, ?, ?, ?, ?)")
      .run(key, step, record.commit, spec::enum_name(record.outcome), record.detail, record.comparison_id);
}

void finish_bisection(Connection& db, std::int64_t key, const std::vector<std::string>& commits) {
  Transaction transaction(db);
  Statement insert(db, "INSERT INTO bisection_candidates VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < commits.size(); ++i) insert.run(key, static_cast<std::int64_t>(i), commits[i]);
  Statement(db, "UPDATE bisections SET finished_utc = ? WHERE bisection_key = ?").run(utc_now(), key);
  transaction.commit();
}

}  // namespace perfbench::harness
