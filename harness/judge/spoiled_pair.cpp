#include "harness/judge/spoiled_pair.h"

#include <fmt/core.h>

#include <cmath>

#include "harness/stats/log_difference.h"

namespace perfbench::harness {
namespace {

constexpr Side kSides[] = {Side::a, Side::b};

std::optional<double> metric(const SideRun& run, const char* name) {
  const auto found = run.metrics.find(name);
  if (found == run.metrics.end()) return std::nullopt;
  return found->second;
}

Spoiled not_finished(const SideRun& run) {
  if (run.state == AttemptState::ok) return {};
  return {is_failed_run(run) ? Discard::failed : Discard::quarantined,
          fmt::format(" {}{}{}", spec::enum_name(run.state), run.reason.empty() ? "" : ": ", run.reason)};
}

Spoiled disturbed(const SideRun& run, const SpoilRule& rule) {
  const auto& load = run.load;
  if (load.steal_fraction > rule.most_steal) {
    return {Discard::steal, fmt::format(": the hypervisor took {} of the cores' time", percent(load.steal_fraction))};
  }
  if (load.foreign_fraction > rule.most_foreign) {
    return {Discard::foreign_load,
            fmt::format(": other processes used {} of the cores{}", percent(load.foreign_fraction),
                        load.busiest.empty() ? "" : fmt::format(", the busiest {}", load.busiest))};
  }
  const auto spread = metric(run, "probe_spread_fraction");
  if (spread && *spread > rule.most_probe_spread) {
    return {Discard::probe_moved, fmt::format(": the noise probe moved by {}", percent(*spread))};
  }
  return {};
}

Spoiled other_speed(const ExecutedPair& pair, const SpoilRule& rule) {
  const auto a = metric(pair.a, "probe_time_s");
  const auto b = metric(pair.b, "probe_time_s");
  if (!a || !b || *a <= 0 || *b <= 0) return {};
  const double shift = std::expm1(std::abs(std::log(*b / *a)));
  if (shift <= rule.most_probe_shift) return {};
  return {Discard::other_speed,
          fmt::format("the machine ran at another speed: the probes of the two runs differ by {}", percent(shift))};
}

Spoiled of_side(Side side, Spoiled spoiled) {
  if (spoiled.discard != Discard::none) spoiled.why = fmt::format("{}{}", spec::enum_name(side), spoiled.why);
  return spoiled;
}

bool is_spoiled(const SideRun& run, const SpoilRule& rule) {
  return not_finished(run).discard != Discard::none || disturbed(run, rule).discard != Discard::none;
}

}  // namespace

std::optional<Side> spoiled_alone(const ExecutedPair& pair, const SpoilRule& rule) {
  if (pair.kept() || pair.discard == Discard::failed) return std::nullopt;
  const bool a = is_spoiled(pair.a, rule);
  const bool b = is_spoiled(pair.b, rule);
  if (a != b) return a ? Side::a : Side::b;
  if (a || pair.discard != Discard::other_speed) return std::nullopt;
  return *metric(pair.a, "probe_time_s") > *metric(pair.b, "probe_time_s") ? Side::a : Side::b;
}

Spoiled why_discarded(const ExecutedPair& pair, const SpoilRule& rule) {
  for (const auto side : kSides) {
    if (auto found = of_side(side, not_finished(pair.of(side))); found.discard != Discard::none) return found;
  }
  if (pair.in_turns) return {};
  for (const auto side : kSides) {
    if (auto found = of_side(side, disturbed(pair.of(side), rule)); found.discard != Discard::none) return found;
  }
  return other_speed(pair, rule);
}

}  // namespace perfbench::harness
