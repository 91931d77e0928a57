#include "harness/trace/critical_path.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/trace/activities.h"

namespace perfbench::harness {
namespace {

// Which ranks of one node communicate along an axis; mesh_spec.h defines the places of ranks.
class NodeMesh {
 public:
  explicit NodeMesh(const spec::MeshAxes& axes)
      : extents_{{{"pp", axes.pp}, {"dp", axes.dp}, {"fsdp", axes.fsdp}, {"ep", axes.ep}, {"tp", axes.tp}}} {
    for (auto extent = extents_.rbegin(); extent != extents_.rend(); ++extent) {
      extent->stride = ranks_;
      ranks_ *= extent->size;
    }
  }

  // The other ranks of the group along axes such as "dp+fsdp".
  std::vector<std::int64_t> peers(std::int64_t rank, std::string_view axes) const {
    std::vector<std::int64_t> out;
    for (std::int64_t other = 0; other < ranks_; ++other) {
      const bool together = std::all_of(extents_.begin(), extents_.end(), [&](const Extent& extent) {
        return has(axes, extent.axis) || place(rank, extent) == place(other, extent);
      });
      if (together && other != rank) out.push_back(other);
    }
    return out;
  }

  // The rank `steps` places further around the ring of one axis; `rank` itself for an axis that does not exist.
  std::int64_t neighbour(std::int64_t rank, std::string_view axis, std::int64_t steps) const {
    for (const auto& extent : extents_) {
      if (extent.axis != axis) continue;
      const auto from = place(rank, extent);
      return rank + ((from + steps + extent.size) % extent.size - from) * extent.stride;
    }
    return rank;
  }

 private:
  struct Extent {
    std::string_view axis;
    std::int64_t size = 1;
    std::int64_t stride = 1;  // between neighbours along the axis
  };

  static bool has(std::string_view axes, std::string_view axis) {
    while (!axes.empty()) {
      const auto plus = std::min(axes.find('+'), axes.size());
      if (axes.substr(0, plus) == axis) return true;
      axes.remove_prefix(std::min(plus + 1, axes.size()));
    }
    return false;
  }

  static std::int64_t place(std::int64_t rank, const Extent& extent) { return rank / extent.stride % extent.size; }

  std::array<Extent, 5> extents_;
  std::int64_t ranks_ = 1;
};

constexpr std::string_view kSend = "send";
constexpr std::string_view kReceive = "receive";

// Calls of one kind follow each other in the same order on every rank that takes part.
struct CallKind {
  std::string name;
  std::string axis;
  std::string heading;
  auto operator<=>(const CallKind&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// One rank's step.
class RankStep {
 public:
  RankStep(const RankTrace& trace, std::int64_t step) : activities_(activities(trace, step)) {
    for (const auto& event : trace.events) {
      if (event.kind == spec::TraceKind::step && event.step == step) span_ = {event.start_ns, event.end_ns};
    }
    for (const auto& activity : activities_) {
      if (activity.start_ns < activity.end_ns) by_end_.push_back(&activity);
      if (!activity.axis.empty()) calls_[kind_of(activity)].push_back(&activity);
    }
    // If several end together, the last one counts: the one that the split would choose.
    std::sort(by_end_.begin(), by_end_.end(), [](const Activity* a, const Activity* b) {
      return std::tuple(a->end_ns, b->part, b->start_ns) < std::tuple(b->end_ns, a->part, a->start_ns);
    });
    for (auto& [kind, calls] : calls_) {
      std::stable_sort(calls.begin(), calls.end(), [](const Activity* a, const Activity* b) {
        return std::pair(a->submitted_ns, a->start_ns) < std::pair(b->submitted_ns, b->start_ns);
      });
    }
  }
  RankStep(RankStep&&) = default;  // moving keeps the activities where the pointers find them

  struct Span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  const std::optional<Span>& span() const { return span_; }
  const std::vector<Activity>& all() const { return activities_; }

  static CallKind kind_of(const Activity& activity) { return {activity.name, activity.axis, activity.heading}; }
  // By submission.
  const std::vector<const Activity*>& calls(const CallKind& kind) const {
    static const std::vector<const Activity*> kNothing;
    const auto found = calls_.find(kind);
    return found == calls_.end() ? kNothing : found->second;
  }

  // nullptr if nothing had ended by then.
  const Activity* last_ended(std::int64_t by_ns) const {
    const auto after =
        std::upper_bound(by_end_.begin(), by_end_.end(), by_ns,
                         [](std::int64_t at_ns, const Activity* activity) { return at_ns < activity->end_ns; });
    return after == by_end_.begin() ? nullptr : *(after - 1);
  }

 private:
  std::vector<Activity> activities_;
  std::optional<Span> span_;
  std::vector<const Activity*> by_end_;
  std::map<CallKind, std::vector<const Activity*>> calls_;
};

using RankSteps = std::map<std::int64_t, RankStep>;

class Walk {
 public:
  Walk(const RankSteps& ranks, const NodeMesh& mesh, CriticalPath& path) : ranks_(ranks), mesh_(mesh), path_(path) {}

  void back_from(std::int64_t rank) {
    std::int64_t now_ns = path_.end_ns;
    while (now_ns > path_.start_ns) {
      const Activity* before = ranks_.at(rank).last_ended(now_ns);
      if (before == nullptr || before->end_ns <= path_.start_ns) {
        fill(rank, path_.start_ns, now_ns);
        break;
      }
      fill(rank, before->end_ns, now_ns);
      const auto last = last_to_enter(rank, *before);
      now_ns = std::max(last ? last->entered_ns : before->start_ns, path_.start_ns);
      path_.segments.push_back({rank, {before->part, before->name, before->phase, now_ns, before->end_ns}});
      if (!last) continue;
      path_.hops.push_back({now_ns, last->rank, rank, before->name, before->axis, now_ns - before->start_ns});
      rank = last->rank;
    }
    std::reverse(path_.segments.begin(), path_.segments.end());
    std::reverse(path_.hops.begin(), path_.hops.end());
  }

 private:
  struct Entry {
    std::int64_t rank = 0;
    std::int64_t entered_ns = 0;
  };

  // The other ranks' parts in a collective, or the other end of a message; empty if the calls do not match.
  std::vector<Entry> others(std::int64_t rank, const Activity& own) const {
    auto kind = RankStep::kind_of(own);
    auto peers = mesh_.peers(rank, own.axis);
    const auto& own_calls = ranks_.at(rank).calls(kind);
    if (own.name == kSend || own.name == kReceive) {
      if (own.heading.empty()) return {};
      const bool sends = own.name == kSend;
      peers = {mesh_.neighbour(rank, own.axis, sends == (own.heading == "onward") ? 1 : -1)};
      kind.name = sends ? kReceive : kSend;
    }
    const auto nth = std::find(own_calls.begin(), own_calls.end(), &own) - own_calls.begin();
    std::vector<Entry> out;
    for (const auto peer : peers) {
      const auto& calls = ranks_.at(peer).calls(kind);
      if (calls.size() != own_calls.size()) return {};
      out.push_back({peer, calls[static_cast<std::size_t>(nth)]->entered_ns});
    }
    return out;
  }

  // nullopt unless this rank waited.
  std::optional<Entry> last_to_enter(std::int64_t rank, const Activity& own) const {
    if (own.axis.empty() || ranks_.size() == 1) return std::nullopt;
    std::optional<Entry> last;
    for (const auto& entry : others(rank, own)) {
      // It did not wait for a message that its receiver expected later.
      const bool waited = own.start_ns < entry.entered_ns && entry.entered_ns < own.end_ns;
      if (waited && (!last || last->entered_ns < entry.entered_ns)) last = entry;
    }
    return last;
  }

  void fill(std::int64_t rank, std::int64_t from_ns, std::int64_t to_ns) {
    if (from_ns == to_ns) return;
    auto& stretches = stretches_[rank];
    if (stretches.empty()) stretches = stretches_of(ranks_.at(rank).all(), path_.start_ns, path_.end_ns);
    auto next = std::lower_bound(stretches.begin(), stretches.end(), to_ns,
                                 [](const StepStretch& s, std::int64_t at_ns) { return s.start_ns < at_ns; });
    while (next != stretches.begin() && (--next)->end_ns > from_ns) {
      auto clipped = *next;
      clipped.start_ns = std::max(clipped.start_ns, from_ns);
      clipped.end_ns = std::min(clipped.end_ns, to_ns);
      path_.segments.push_back({rank, std::move(clipped)});
    }
  }

  const RankSteps& ranks_;
  const NodeMesh& mesh_;
  CriticalPath& path_;
  std::map<std::int64_t, std::vector<StepStretch>> stretches_;  // by rank
};

}  // namespace

std::variant<CriticalPath, NoPath> critical_path(const std::vector<RankTrace>& traces,
                                                 const std::optional<spec::MeshSpec>& mesh, std::int64_t step) {
  const auto count = static_cast<std::int64_t>(traces.size());
  const bool placed = std::all_of(traces.begin(), traces.end(),
                                  [&](const RankTrace& trace) { return 0 <= trace.rank && trace.rank < count; });
  if (count > 1 && (!mesh || mesh->devices() != count || !placed)) return NoPath::unknown_mesh;
  if (count > 1 && mesh->dcn.size() > 1) return NoPath::several_nodes;
  RankSteps ranks;
  CriticalPath path{.step = step, .start_ns = std::numeric_limits<std::int64_t>::max()};
  std::int64_t last = 0;
  for (const auto& trace : traces) {
    const auto& span = ranks.emplace(trace.rank, RankStep(trace, step)).first->second.span();
    if (!span) return NoPath::no_step;
    path.start_ns = std::min(path.start_ns, span->start_ns);
    if (ranks.size() == 1 || span->end_ns > path.end_ns) {
      path.end_ns = span->end_ns;
      last = trace.rank;
    }
  }
  if (ranks.empty()) return NoPath::no_step;
  Walk(ranks, NodeMesh(mesh ? mesh->ici : spec::MeshAxes{}), path).back_from(last);
  return path;
}

std::vector<PathShare> path_shares(const CriticalPath& path) {
  std::map<std::tuple<TracePart, std::string, std::string>, PathShare> shares;
  for (const auto& [rank, stretch] : path.segments) {
    auto& share = shares[{stretch.part, stretch.name, stretch.phase}];
    share.ns += stretch.end_ns - stretch.start_ns;
    share.rank_ns[rank] += stretch.end_ns - stretch.start_ns;
  }
  std::vector<PathShare> out;
  for (auto& [key, share] : shares) {
    std::tie(share.part, share.name, share.phase) = key;
    out.push_back(std::move(share));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return out;
}

std::map<std::int64_t, std::int64_t> rank_times(const CriticalPath& path) {
  std::map<std::int64_t, std::int64_t> out;
  for (const auto& [rank, stretch] : path.segments) out[rank] += stretch.end_ns - stretch.start_ns;
  return out;
}

}  // namespace perfbench::harness
