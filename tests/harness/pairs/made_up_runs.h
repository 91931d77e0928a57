// Process runs of two simulated sides, for tests of the code that judges them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/pairs/ab_run.h"

namespace perfbench::harness {

// Uniform noise, the same on every machine: a linear congruential generator (Knuth's MMIX constants).
class MadeUpNoise {
 public:
  explicit MadeUpNoise(std::uint64_t seed) : state_(seed) {}
  // Within +-fraction.
  double operator()(double fraction) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return fraction * (2.0 * static_cast<double>(state_ >> 11U) / 9007199254740992.0 - 1.0);
  }

 private:
  std::uint64_t state_;
};

inline SideRun made_up_run(double step_time_s) {
  return {.metrics = {{"step_time_s", step_time_s}, {"peak_memory_bytes", 1e6}, {"final_loss", 4.5}}};
}

inline SideRun crashed_run() {
  return {.state = AttemptState::crashed, .reason = "signal 11"};
}

inline AbCell made_up_cell(const std::string& label) {
  AbCell cell{.label = label};
  cell.a.label = cell.b.label = label;
  return cell;
}

inline ExecutedPair made_up_pair(std::size_t number, SideRun a, SideRun b) {
  return {.number = number, .a = std::move(a), .b = std::move(b)};
}

inline std::vector<const ExecutedPair*> pointers_to(const std::vector<ExecutedPair>& pairs) {
  std::vector<const ExecutedPair*> out;
  for (const auto& pair : pairs) out.push_back(&pair);
  return out;
}

// Speed, memory and loss, which made_up_run provides.
inline AbRule made_up_rule(std::size_t pairs) {
  AbRule rule;
  rule.metrics = metric_rules({"step_time_s", "peak_memory_bytes", "final_loss"}, {});
  rule.looks = looks_up_to(pairs);
  rule.most_discarded = pairs;
  return rule;
}

inline const Decision& decision_about(const CellVerdict& cell, const std::string& metric) {
  for (const auto& verdict : cell.metrics) {
    if (verdict.rule.metric == metric) return verdict.decided.decision;
  }
  throw std::out_of_range(metric);
}

}  // namespace perfbench::harness
