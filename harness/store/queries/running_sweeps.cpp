#include "harness/store/queries/running_sweeps.h"

#include "harness/store/columns.h"

namespace perfbench::harness {

void record_running(Connection& db, const RunningSweep& sign) {
  Transaction transaction(db);
  Statement(db,
            "DELETE FROM running_sweeps WHERE sweep_id = ?1 OR "
            "CAST(strftime('%s', sign_utc) AS INTEGER) < CAST(strftime('%s', ?2, '-7 days') AS INTEGER)")
      .run(sign.sweep_id, sign.sign_utc);
  insert_rows(db, "running_sweeps", {}, std::vector{sign});
  transaction.commit();
}

void forget_running(Connection& db, const std::string& sweep_id) {
  Statement(db, "DELETE FROM running_sweeps WHERE sweep_id = ?").run(sweep_id);
}

std::vector<RunningSweep> running_sweeps(const Connection& db) {
  Statement rows(db, select_sql<RunningSweep>("running_sweeps", "ORDER BY sign_utc DESC, sweep_id"));
  std::vector<RunningSweep> out;
  while (rows.step()) read_columns(rows, 0, out.emplace_back());
  return out;
}

}  // namespace perfbench::harness
