#include "harness/trace/trace_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "harness/trace/activities.h"

namespace perfbench::harness {
namespace {

constexpr std::array<std::int64_t TraceSummary::*, kTraceParts> kPartFields{
    &TraceSummary::gemm_ns,        &TraceSummary::attention_ns,    &TraceSummary::norm_ns,
    &TraceSummary::elementwise_ns, &TraceSummary::optimizer_ns,    &TraceSummary::other_ns,
    &TraceSummary::copy_ns,        &TraceSummary::exposed_comm_ns, &TraceSummary::idle_dependency_ns,
    &TraceSummary::idle_host_ns};

// A moment at which the number of running activities of a part, or of waiting ones, changes.
struct Change {
  std::int64_t at_ns = 0;
  TracePart part = TracePart::other;
  int by = 0;
};

std::vector<Change> changes_of(const std::vector<Activity>& activities) {
  std::vector<Change> changes;
  const auto add = [&changes](TracePart part, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    changes.push_back({begin, part, 1});
    changes.push_back({end, part, -1});
  };
  for (const auto& activity : activities) {
    add(activity.part, activity.start_ns, activity.end_ns);
    add(TracePart::idle_dependency, activity.submitted_ns, activity.start_ns);
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  return changes;
}

// What runs at the moment that the sweep has reached.
class Running {
 public:
  void apply(const Change& change) { count_[static_cast<std::size_t>(change.part)] += change.by; }

  void spend(std::int64_t ns, TraceSummary& on) const {
    on.*kPartFields[first()] += ns;
    if (count_[static_cast<std::size_t>(TracePart::collective)] > 0) on.collective_ns += ns;
  }

 private:
  std::size_t first() const {
    const auto found = std::find_if(count_.begin(), count_.end(), [](std::int64_t n) { return n > 0; });
    return found == count_.end() ? static_cast<std::size_t>(TracePart::idle_host)
                                 : static_cast<std::size_t>(found - count_.begin());
  }

  std::array<std::int64_t, kTraceParts> count_{};
};

std::vector<const spec::TraceEvent*> steps_of(const RankTrace& trace) {
  std::vector<const spec::TraceEvent*> steps;
  for (const auto& event : trace.events) {
    if (event.kind == spec::TraceKind::step) steps.push_back(&event);
  }
  std::sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  return steps;
}

}  // namespace

std::vector<TraceSummary> summarise(const RankTrace& trace) {
  const auto changes = changes_of(activities(trace));
  auto next = changes.begin();
  Running running;
  std::vector<TraceSummary> out;
  // Steps do not overlap (trace_file.h), so one pass over the changes serves them all.
  for (const auto* step : steps_of(trace)) {
    TraceSummary summary{.rank = trace.rank,
                         .step = step->step,
                         .wall_ns = step->end_ns - step->start_ns,
                         .dropped_records = trace.end.dropped_records};
    std::int64_t now = step->start_ns;
    for (; next != changes.end() && next->at_ns < step->end_ns; ++next) {
      if (next->at_ns > now) {
        running.spend(next->at_ns - now, summary);
        now = next->at_ns;
      }
      running.apply(*next);
    }
    running.spend(step->end_ns - now, summary);
    out.push_back(summary);
  }
  return out;
}

std::vector<TraceSummary> summarise(const std::vector<RankTrace>& traces) {
  std::vector<TraceSummary> out;
  for (const auto& trace : traces) {
    const auto of_rank = summarise(trace);
    out.insert(out.end(), of_rank.begin(), of_rank.end());
  }
  return out;
}

}  // namespace perfbench::harness
