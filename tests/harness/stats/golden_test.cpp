// Compares every estimator and test behind the verdicts with SciPy's and NumPy's values
// (tests/golden/verdict_statistics.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/stats/decision.h"
#include "harness/stats/false_discovery.h"
#include "harness/stats/log_difference.h"
#include "harness/stats/paired_decision.h"
#include "harness/stats/proportion.h"
#include "harness/stats/screen.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

using Json = nlohmann::json;
using Values = std::vector<double>;

// Both sides compute with double precision and at most a few hundred operations. Quantiles of Student's t have a
// relative error of 1e-12, and intervals lose a factor of 100 where a ratio is near 1.
constexpr double kRelative = 1e-10;

void expect_close(double ours, const Json& theirs, const char* what) {
  const auto value = theirs.get<double>();
  EXPECT_NEAR(ours, value, kRelative * std::max(1e-3, std::abs(value))) << what;
}

const Json& golden() {
  static const Json json = Json::parse(std::ifstream(PERFBENCH_SOURCE_DIR "/tests/golden/verdict_statistics.json"));
  return json;
}

TEST(GoldenStatistics, Pairs) {
  for (const auto& expected : golden()["pairs"]) {
    const auto a = expected["a"].get<Values>();
    const auto b = expected["b"].get<Values>();
    std::vector<Pair> pairs;
    Values d;
    for (std::size_t i = 0; i < a.size(); ++i) {
      pairs.push_back({.a = a[i], .b = b[i]});
      d.push_back(std::log(b[i] / a[i]));
    }
    const auto found = decide_pairs(pairs, {.looks = {a.size()}});
    expect_close(*found.decision.ratio, expected["ratio"], "ratio");
    expect_close(found.decision.ratio_95->low, expected["ratio_low"], "ratio_low");
    expect_close(found.decision.ratio_95->high, expected["ratio_high"], "ratio_high");
    expect_close(sign_flip_p(d), expected["sign_flip_p"], "sign_flip_p");
    expect_close(*found.decision.detectable_fraction, expected["detectable_fraction"], "detectable_fraction");
    if (found.decision.p) expect_close(*found.decision.p, expected["t_p"], "t_p");
    EXPECT_EQ(found.pairs_needed.value_or(expected["pairs_needed"].get<std::size_t>()),
              expected["pairs_needed"].get<std::size_t>());
    const auto inner = expected["interval_90"].get<Values>();
    const double margin = std::log1p(0.02);
    EXPECT_EQ(found.decision.verdict == Verdict::same, inner[0] > -margin && inner[1] < margin);
  }
}

TEST(GoldenStatistics, TwoSides) {
  for (const auto& expected : golden()["sides"]) {
    const auto found = decide({.values = expected["current"].get<Values>()},
                              {.values = expected["baseline"].get<Values>()}, {.margin_fraction = 1e-9});
    expect_close(*found.ratio, expected["ratio"], "ratio");
    expect_close(found.ratio_95->low, expected["ratio_low"], "ratio_low");
    expect_close(found.ratio_95->high, expected["ratio_high"], "ratio_high");
    expect_close(*found.p, expected["permutation_p"], "permutation_p");
  }
}

std::vector<SessionLevel> levels_of(const Json& expected) {
  std::vector<SessionLevel> out;
  const auto logs = expected["log_levels"].get<Values>();
  for (std::size_t i = 0; i < logs.size(); ++i) {
    out.push_back({.sweep_id = "night" + std::to_string(i),
                   .machine = "m",
                   .log_level = logs[i],
                   .runs = expected["level_runs"][i].get<std::size_t>()});
  }
  return out;
}

TEST(GoldenStatistics, SidesWithSeveralSessions) {
  for (const auto& expected : golden()["sessions"]) {
    const auto side = [&](const std::string& name) {
      return Sample{.values = expected[name].get<Values>(),
                    .sessions = expected[name + "_sessions"].get<std::vector<std::string>>()};
    };
    const auto found =
        decide_between_sessions(side("current"), side("baseline"), {.margin_fraction = 1e-9}, levels_of(expected));
    expect_close(*found.session_deviation, expected["deviation"], "deviation");
    expect_close(*found.p, expected["p"], "p");
    expect_close(found.ratio_95->low, expected["ratio_low"], "ratio_low");
    expect_close(found.ratio_95->high, expected["ratio_high"], "ratio_high");
  }
}

TEST(GoldenStatistics, Shifts) {
  for (const auto& expected : golden()["shifts"]) {
    const auto found = largest_shift(expected["logs"].get<Values>(), {});
    ASSERT_TRUE(found);
    expect_close(found->score, expected["score"], "score");
    EXPECT_EQ(found->first, expected["first"].get<std::size_t>());
    expect_close(found->sigma, expected["sigma"], "sigma");
  }
}

TEST(GoldenStatistics, ManyTestsAndRates) {
  const auto adjusted = benjamini_hochberg(golden()["p"].get<Values>());
  for (std::size_t i = 0; i < adjusted.size(); ++i) expect_close(adjusted[i], golden()["benjamini_hochberg"][i], "q");
  for (const auto& w : golden()["wilson"]) {
    const auto found = wilson(w[0].get<std::uint64_t>(), w[1].get<std::uint64_t>(), w[2].get<double>());
    expect_close(found.low, w[3], "low");
    expect_close(found.high, w[4], "high");
  }
}

TEST(GoldenStatistics, OrderStatistics) {
  const auto values = golden()["values"].get<Values>();
  expect_close(median(values), golden()["median"], "median");
  for (const auto& q : golden()["quantiles"]) expect_close(quantile(values, q[0].get<double>()), q[1], "quantile");
  // 1.4826 has five digits.
  EXPECT_NEAR(robust_deviation(values) / golden()["robust_deviation"].get<double>(), 1, 3e-6);
}

}  // namespace
}  // namespace perfbench::harness
