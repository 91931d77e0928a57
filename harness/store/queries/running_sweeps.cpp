#include "harness/store/queries/running_sweeps.h"

#include <cstdint>

#include "harness/store/columns.h"

namespace perfbench::harness {
namespace {

// Whether the sign is older than a week at the time ?2.
constexpr const char* kIsOld =
    "CAST(strftime('%s', sign_utc) AS INTEGER) < CAST(strftime('%s', ?2, '-7 days') AS INTEGER)";

class ShortPatience {
 public:
  explicit ShortPatience(Connection& db) : db_(db) {
    Statement usual(db, "PRAGMA busy_timeout");
    if (usual.step()) usual_ms_ = usual.integer(0);
    set(kMilliseconds);
  }
  ~ShortPatience() { set(usual_ms_); }
  ShortPatience(const ShortPatience&) = delete;
  ShortPatience& operator=(const ShortPatience&) = delete;

 private:
  static constexpr std::int64_t kMilliseconds = 100;
  void set(std::int64_t milliseconds) {
    Statement(db_, "PRAGMA busy_timeout = " + std::to_string(milliseconds)).step();
  }

  Connection& db_;
  std::int64_t usual_ms_ = 0;
};

}  // namespace

void record_running(Connection& db, const RunningSweep& sign) {
  const ShortPatience patience(db);
  Transaction transaction(db);
  Statement(db, std::string("DELETE FROM running_sweeps WHERE sweep_id = ?1 OR ") + kIsOld)
      .run(sign.sweep_id, sign.sign_utc);
  insert_rows(db, "running_sweeps", {}, std::vector{sign});
  transaction.commit();
}

void forget_running(Connection& db, const std::string& sweep_id) {
  const ShortPatience patience(db);
  Statement(db, "DELETE FROM running_sweeps WHERE sweep_id = ?").run(sweep_id);
}

std::vector<RunningSweep> running_sweeps(const Connection& db, const std::string& now_utc) {
  Statement rows(db, select_sql<RunningSweep>("running_sweeps", std::string("WHERE NOT coalesce(") + kIsOld +
                                                                    ", 0) ORDER BY sign_utc DESC, sweep_id"));
  rows.bind(2, now_utc);
  std::vector<RunningSweep> out;
  while (rows.step()) read_columns(rows, 0, out.emplace_back());
  return out;
}

}  // namespace perfbench::harness
