// Stores measured error rates: table selftest_results.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/store/sqlite.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct SelftestRun {
  std::string date_utc;
  std::string version;  // version of perfbench
  std::uint64_t seed = 0;
};

// One row of the table.
struct StoredSelftestResult {
  std::string date_utc;
  std::string version;
  std::string seed;  // 64 bits, unsigned
  SelftestKind kind = SelftestKind::aa;
  std::string noise;
  std::string measure;
  double value = 0;
  double low = 0;
  double high = 0;
  std::optional<GoalRule> goal_rule = {};
  std::optional<double> goal = {};
  std::optional<std::int64_t> met = {};

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"date_utc", "when it was measured"}, self.date_utc);
    f(Field{"version", "version of perfbench"}, self.version);
    f(Field{"seed", "seed of the simulation"}, self.seed);
    f(Field{"kind", "what was measured"}, self.kind);
    f(Field{"noise", "kind of noise"}, self.noise);
    f(Field{"measure", "which rate"}, self.measure);
    f(Field{"value", "measured", -kMost, kMost}, self.value);
    f(Field{"low", "lower end of its interval", -kMost, kMost}, self.low);
    f(Field{"high", "upper end of its interval", -kMost, kMost}, self.high);
    f(Field{"goal_rule", "limit of the goal; null: there is none"}, self.goal_rule);
    f(Field{"goal", "the goal", -kMost, kMost}, self.goal);
    f(Field{"met", "1 if it is met", 0, 1}, self.met);
  }
};

// Every readable row, in the order in which rows were stored; others are left out (Connection::left_out).
std::vector<StoredSelftestResult> stored_selftest_results(const Connection& db);
void add_selftest_results(Connection& db, const std::vector<StoredSelftestResult>& rows);

// In one transaction.
void store_selftest(Connection& db, const SelftestRun& run, const std::vector<SelftestResult>& results);

}  // namespace perfbench::harness
