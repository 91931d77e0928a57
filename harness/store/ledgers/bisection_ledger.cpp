#include "harness/store/ledgers/bisection_ledger.h"

#include <utility>

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "harness/system/utc.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::int64_t insert_bisection(Connection& db, const BisectionRecord& bisection) {
  insert_rows(db, "bisections", {}, std::vector{bisection});
  return db.last_insert_key();
}

void add_candidates(Connection& db, std::int64_t key, const std::vector<std::string>& commits) {
  Statement insert(db, "INSERT INTO bisection_candidates VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < commits.size(); ++i) insert.run(key, static_cast<std::int64_t>(i), commits[i]);
}

}  // namespace

std::int64_t begin_bisection(Connection& db, BisectionRecord bisection) {
  bisection.started_utc = utc_now();
  return insert_bisection(db, bisection);
}

void add_bisection_step(Connection& db, std::int64_t key, std::int64_t step, const BisectionStepRecord& record) {
  insert_rows(db, "bisection_steps", {{"bisection_key", key}, {"step", step}}, std::vector{record});
}

void finish_bisection(Connection& db, std::int64_t key, const std::vector<std::string>& commits) {
  Transaction transaction(db);
  add_candidates(db, key, commits);
  Statement(db, "UPDATE bisections SET finished_utc = ? WHERE bisection_key = ?").run(utc_now(), key);
  transaction.commit();
}

std::vector<BisectionRecord> finished_bisections(const Connection& db) {
  Statement rows(
      db, select_sql<BisectionRecord>(
              "bisections", "WHERE finished_utc IS NOT NULL ORDER BY started_utc, bisection_key", ", bisection_key"));
  Statement candidates(db, "SELECT git_commit FROM bisection_candidates WHERE bisection_key = ? ORDER BY position");
  std::vector<BisectionRecord> out;
  while (rows.step()) {
    const auto key = rows.integer(rows.columns() - 1);
    try {
      BisectionRecord one;
      read_columns(rows, 0, one);
      one.steps = read_rows<BisectionStepRecord>(db, "bisection_steps", {"bisection_key", key}, "step");
      candidates.with(key);
      while (candidates.step()) one.candidates.push_back(candidates.text(0));
      out.push_back(std::move(one));
    } catch (const spec::SpecError& e) {
      leave_out_row(db, {"bisections", "bisection_key " + std::to_string(key)}, e.what());
    }
  }
  return out;
}

void add_bisection(Connection& db, const BisectionRecord& bisection) {
  Transaction transaction(db);
  const auto key = insert_bisection(db, bisection);
  std::int64_t step = 0;
  for (const auto& record : bisection.steps) add_bisection_step(db, key, step++, record);
  add_candidates(db, key, bisection.candidates);
  transaction.commit();
}

}  // namespace perfbench::harness
