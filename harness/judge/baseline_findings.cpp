#include "harness/judge/baseline_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "harness/stats/verdict.h"
#include "harness/system/utc.h"
#include "reports/render/format/number.h"

namespace perfbench::harness {
namespace {

bool expired(const Baseline& entry, const std::string& now_utc) {
  return !entry.expires_utc.empty() && entry.expires_utc <= now_utc;
}

std::string set_command(const Baseline& entry, const std::string& selection, const char* reason) {
  return fmt::format("perfbench baseline set {} --kind {} --from {} --reason '{}'", entry.name,
                     spec::enum_name(entry.kind), selection, reason);
}

bool improved_beyond_margin(const CellComparison& comparison) {
  const auto& decision = comparison.decision;
  return decision.verdict == Verdict::improved && decision.ratio &&
         std::abs(std::log(*decision.ratio)) > std::log1p(comparison.margin_fraction);
}

}  // namespace

std::vector<LedgerFinding> expired_baselines(const std::vector<Baseline>& ledger, const std::string& now_utc) {
  std::map<std::string, const Baseline*> newest;  // by name
  std::map<std::string, bool> in_force;
  for (const auto& entry : ledger) {
    newest[entry.name] = &entry;
    in_force[entry.name] = in_force[entry.name] || !expired(entry, now_utc);
  }
  std::vector<LedgerFinding> out;
  for (const auto& [name, entry] : newest) {
    if (in_force.at(name)) continue;
    const bool ours = !entry->attempt_keys.empty();
    out.push_back({fmt::format("baseline '{}' ({}, by {}) expired {}, and no other entry of that name is in force",
                               name, spec::enum_name(entry->kind), entry->author, entry->expires_utc),
                   ours ? set_command(*entry, "latest", "renewed after it expired")
                        : fmt::format("perfbench baseline import {} --from {} --reason 'renewed after it expired'",
                                      name, entry->source)});
  }
  return out;
}

std::optional<LedgerFinding> refresh_after_improvement(const std::vector<CellComparison>& comparisons,
                                                       const Baseline& baseline, const std::string& selection) {
  if (baseline.attempt_keys.empty()) return std::nullopt;
  const CellComparison* largest = nullptr;
  std::size_t improved = 0;
  const auto size = [](const CellComparison& c) { return std::abs(std::log(*c.decision.ratio)); };
  for (const auto& comparison : comparisons) {
    if (!improved_beyond_margin(comparison)) continue;
    ++improved;
    if (largest == nullptr || size(comparison) > size(*largest)) largest = &comparison;
  }
  if (largest == nullptr) return std::nullopt;
  return LedgerFinding{fmt::format("{} of {} improved beyond the margin, the most {} of {} by {}: with baseline '{}' a "
                                   "later loss of this improvement would go unnoticed",
                                   improved, comparisons.size(), largest->metric, largest->label,
                                   reports::format_percent_change(*largest->decision.ratio), baseline.name),
                       set_command(baseline, selection, "improved")};
}

std::string next_creep_check(const std::string& last_utc) {
  namespace chrono = std::chrono;
  const auto last = day_of(last_utc);
  const auto next = chrono::year_month(last.year(), last.month()) + chrono::months(1);
  const auto end = chrono::year_month_day(next / chrono::last).day();
  return on_day(last_utc, next / std::min(last.day(), end));
}

bool creep_check_is_due(const std::string& last_utc, const std::string& now_utc) {
  return last_utc.empty() || now_utc >= next_creep_check(last_utc);
}

}  // namespace perfbench::harness
