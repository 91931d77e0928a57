#include "reports/content/critical_path_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::CriticalPath;
using harness::PathShare;

constexpr std::size_t kSharesShown = 12;

std::string path_milliseconds(std::int64_t ns) {
  return format_number(static_cast<double>(ns) / 1e6);
}

std::string work_name(harness::TracePart part, const std::string& name) {
  if (!harness::is_idle(part)) return name;
  std::string idle(spec::enum_name(part));
  std::replace(idle.begin(), idle.end(), '_', ' ');
  return idle;
}

// The ranks with most of the time first.
std::string ranks_text(const std::map<std::int64_t, std::int64_t>& rank_ns) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranks(rank_ns.begin(), rank_ns.end());
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamed, ranks.size()); ++i) {
    out += (out.empty() ? "" : ", ") + std::to_string(ranks[i].first);
  }
  if (ranks.size() > kNamed) out += fmt::format(" and {} others", ranks.size() - kNamed);
  return out;
}

Row people_row(const CriticalPath& path, const PathShare& share, const std::string& name) {
  return {.cells = {name, share.phase, path_milliseconds(share.ns),
                    format_percent(static_cast<double>(share.ns) / static_cast<double>(path.ns())),
                    ranks_text(share.rank_ns)}};
}

Table path_shares_for_people(const CriticalPath& path) {
  Table out{.key = "critical_path",
            .columns = {{.title = "Operation", .key = "name"},
                        {.title = "Phase", .key = "phase"},
                        {.title = "Time (ms)", .key = "ns", .align = Align::right},
                        {.title = "Share", .key = "share", .align = Align::right},
                        {.title = "Ranks", .key = "ranks", .is_setting = true}},
            .rows = {}};
  const auto shares = harness::path_shares(path);
  PathShare rest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i < kSharesShown) {
      out.rows.push_back(people_row(path, shares[i], work_name(shares[i].part, shares[i].name)));
      continue;
    }
    rest.ns += shares[i].ns;
    for (const auto& [rank, ns] : shares[i].rank_ns) rest.rank_ns[rank] += ns;
  }
  if (rest.ns > 0) out.rows.push_back(people_row(path, rest, fmt::format("{} others", shares.size() - kSharesShown)));
  return out;
}

Table path_shares_for_programs(const CriticalPath& path) {
  Table out{.key = "critical_path", .columns = {}, .rows = {}};
  for (const char* key : {"step", "rank", "part", "name", "phase", "ns"}) {
    out.columns.push_back({.title = key, .key = key});
  }
  for (const auto& share : harness::path_shares(path)) {
    for (const auto& [rank, ns] : share.rank_ns) {
      out.rows.push_back({.cells = {Cell("", path.step), Cell("", rank), std::string(spec::enum_name(share.part)),
                                    share.name, share.phase, Cell("", ns)}});
    }
  }
  return out;
}

}  // namespace

TimelineLane critical_path_lane(const CriticalPath& path) {
  const bool one_rank = harness::rank_times(path).size() == 1;
  TimelineLane out{.name = "critical path", .spans = {}, .repeats_others = true};
  for (const auto& [rank, stretch] : path.segments) {
    const auto name = work_name(stretch.part, stretch.name);
    out.spans.push_back({.name = one_rank ? name : fmt::format("{}, rank {}", name, rank),
                         .kind = std::string(spec::enum_name(stretch.part)),
                         .start_ns = stretch.start_ns,
                         .end_ns = stretch.end_ns});
  }
  return out;
}

Table critical_path_table(const CriticalPath& path, Audience audience) {
  auto out = audience == Audience::people ? path_shares_for_people(path) : path_shares_for_programs(path);
  for (auto& column : out.columns) column.audience = audience;
  return out;
}

std::optional<std::string> slow_rank_text(const CriticalPath& path) {
  constexpr double kMostOfTheStep = 0.5;
  // Ranks of equal speed wait for each other too, for one or two percent of a step.
  constexpr double kLongWait = 0.05;
  const auto times = harness::rank_times(path);
  const auto slowest =
      std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest == times.end()) return std::nullopt;
  std::map<std::string, std::int64_t> waits;  // for that rank, by collective
  std::int64_t waited_ns = 0;
  for (const auto& hop : path.hops) {
    if (hop.from_rank != slowest->first) continue;
    waits[fmt::format("{} ({})", hop.name, hop.axis)] += hop.waited_ns;
    waited_ns += hop.waited_ns;
  }
  const auto whole = static_cast<double>(path.ns());
  if (static_cast<double>(slowest->second) < kMostOfTheStep * whole) return std::nullopt;
  if (waits.empty() || static_cast<double>(waited_ns) < kLongWait * whole) return std::nullopt;
  const auto longest =
      std::max_element(waits.begin(), waits.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} ms of the {} ms of step {} pass on rank {}; other ranks wait for it in {}.",
                     path_milliseconds(slowest->second), path_milliseconds(path.ns()), path.step, slowest->first,
                     longest->first);
}

std::string no_path_text(harness::NoPath reason) {
  switch (reason) {
    case harness::NoPath::no_step:
      return "There is no critical path, because a rank did not trace the first step.";
    case harness::NoPath::unknown_mesh:
      return "There is no critical path, because no run.json with a mesh of these ranks is beside the trace.";
    case harness::NoPath::several_nodes:
      return "There is no critical path, because the ranks are on several nodes, whose clocks cannot be compared.";
  }
  return {};
}

}  // namespace perfbench::reports
