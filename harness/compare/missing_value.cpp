#include "harness/compare/missing_value.h"

#include <algorithm>

#include "harness/stats/log_difference.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

std::string ending_of(const StoredAttempt& attempt) {
  return std::string(spec::enum_name(attempt.state)) + (attempt.reason.empty() ? "" : ": " + attempt.reason);
}

}  // namespace

std::optional<Decision> diverged_now(const CellRuns& cell) {
  const auto* lost = cell.diverged();
  if (lost == nullptr) return std::nullopt;
  Decision out;
  conclude(out, Verdict::regressed, VerdictReason::side_failed, ending_of(*lost) + ", where the baseline did not");
  return out;
}

std::string why_no_value(const CellRuns& cell, const std::string& metric) {
  const auto done = cell.finished();
  if (done.empty()) return "no run of it is ok: " + ending_of(cell.attempts.back());
  const auto value_of = [&](const StoredAttempt* attempt) { return attempt->metrics.find(metric); };
  if (std::all_of(done.begin(), done.end(), [&](const auto* a) { return value_of(a) == a->metrics.end(); })) {
    return "no run of it has " + metric + ": " + std::string(spec::why_absent(metric));
  }
  const bool positive = std::any_of(done.begin(), done.end(), [&](const auto* a) {
    return value_of(a) != a->metrics.end() && value_of(a)->second > 0;
  });
  return positive ? "" : "its " + metric + " is 0, which no ratio can be made of";
}

}  // namespace perfbench::harness
