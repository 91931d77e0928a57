#include "harness/selftest/ledger.h"

#include <optional>
#include <string_view>

namespace perfbench::harness {

void store_selftest(Connection& db, const SelftestRun& run, const std::vector<SelftestResult>& results) {
  Transaction transaction(db);
  Statement insert(db,
                   "INSERT INTO selftest_results (date_utc, version, seed, kind, noise, measure, value, low, high, "
                   "goal_rule, goal, met) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& r : results) {
    std::optional<std::string_view> rule;
    std::optional<double> limit;
    std::optional<std::int64_t> met;
    if (r.goal) {
      rule = spec::enum_name(r.goal->rule);
      limit = r.goal->limit;
      met = *goal_met(r) ? 1 : 0;
    }
    insert.run(run.date_utc, run.version, std::to_string(run.seed), spec::enum_name(r.kind), r.noise, r.measure,
               r.value, r.low, r.high, rule, limit, met);
  }
  transaction.commit();
}

}  // namespace perfbench::harness
