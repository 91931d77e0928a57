#include "harness/trace/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace perfbench::harness {
namespace {

constexpr double kNsPerS = 1e9;

// For every step, the split of the slowest rank: the others waited for it.
std::vector<const StepSplit*> slowest_ranks(const std::vector<std::vector<StepSplit>>& runs) {
  std::vector<const StepSplit*> out;
  for (const auto& run : runs) {
    std::map<std::int64_t, const StepSplit*> by_step;
    for (const auto& split : run) {
      auto& slowest = by_step[split.step];
      if (slowest == nullptr || split.wall_ns > slowest->wall_ns) slowest = &split;
    }
    for (const auto& [step, split] : by_step) out.push_back(split);
  }
  return out;
}

void keep_middle_half(std::vector<const StepSplit*>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) { return a->wall_ns < b->wall_ns; });
  const auto cut = static_cast<std::ptrdiff_t>(steps.size() / 4);
  steps.erase(steps.end() - cut, steps.end());
  steps.erase(steps.begin(), steps.begin() + cut);
}

std::string name_of(const StepShare& share) {
  if (share.part == TracePart::idle_host) return "idle: host";
  if (share.part == TracePart::idle_dependency) return "idle: dependency";
  auto name = share.phase.empty() ? share.name : share.phase + " " + share.name;
  if (share.part == TracePart::collective) name += " (exposed)";
  return name;
}

struct MeanSplit {
  double wall_s = 0;
  std::map<std::string, double> shares_s;
};

MeanSplit mean_of(const std::vector<const StepSplit*>& steps) {
  MeanSplit side;
  const double weight = 1 / (kNsPerS * static_cast<double>(steps.size()));
  for (const auto* step : steps) {
    side.wall_s += weight * static_cast<double>(step->wall_ns);
    for (const auto& share : step->shares) side.shares_s[name_of(share)] += weight * static_cast<double>(share.ns);
  }
  return side;
}

std::int64_t dropped(const std::vector<std::vector<StepSplit>>& runs) {
  std::int64_t sum = 0;
  for (const auto& run : runs) {
    std::map<std::int64_t, std::int64_t> of_rank;  // every step of a rank repeats the rank's count
    for (const auto& split : run) of_rank[split.rank] = split.dropped_records;
    for (const auto& [rank, count] : of_rank) sum += count;
  }
  return sum;
}

}  // namespace

std::optional<Attribution> attribute(const std::vector<std::vector<StepSplit>>& a_runs,
                                     const std::vector<std::vector<StepSplit>>& b_runs) {
  auto a_steps = slowest_ranks(a_runs);
  auto b_steps = slowest_ranks(b_runs);
  if (a_steps.empty() || b_steps.empty()) return std::nullopt;
  keep_middle_half(a_steps);
  keep_middle_half(b_steps);
  const auto a = mean_of(a_steps);
  const auto b = mean_of(b_steps);
  Attribution out{.a_s = a.wall_s, .b_s = b.wall_s, .a_steps = a_steps.size(), .b_steps = b_steps.size()};
  out.dropped_records = dropped(a_runs) + dropped(b_runs);
  std::map<std::string, AttributedShare> shares;
  for (const auto& [name, s] : a.shares_s) shares[name].a_s = s;
  for (const auto& [name, s] : b.shares_s) shares[name].b_s = s;
  for (auto& [name, share] : shares) {
    share.name = name;
    out.shares.push_back(share);
  }
  std::stable_sort(out.shares.begin(), out.shares.end(), [](const auto& x, const auto& y) {
    return std::abs(x.difference_s()) > std::abs(y.difference_s());
  });
  return out;
}

}  // namespace perfbench::harness
