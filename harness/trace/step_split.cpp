#include "harness/trace/step_split.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/trace/activities.h"

namespace perfbench::harness {
namespace {

// A moment at which an activity begins or ends to run, or begins or ends to wait.
struct Change {
  std::int64_t at_ns = 0;
  TracePart part = TracePart::other;
  std::size_t activity = 0;
  bool begins = false;
};

std::vector<Change> changes_of(const std::vector<Activity>& activities) {
  std::vector<Change> changes;
  const auto add = [&changes](TracePart part, std::size_t activity, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    changes.push_back({begin, part, activity, true});
    changes.push_back({end, part, activity, false});
  };
  for (std::size_t i = 0; i < activities.size(); ++i) {
    const auto& activity = activities[i];
    add(activity.part, i, activity.start_ns, activity.end_ns);
    add(TracePart::idle_dependency, i, activity.submitted_ns, activity.start_ns);
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  return changes;
}

// The activities that run at the current moment of the sweep, and the shares of the step so far.
class Running {
 public:
  explicit Running(const std::vector<Activity>& activities) : activities_(activities) {}

  void apply(const Change& change) {
    auto& active = active_[static_cast<std::size_t>(change.part)];
    const std::pair key{activities_[change.activity].start_ns, change.activity};
    if (change.begins) {
      active.insert(key);
    } else {
      active.erase(key);
    }
  }

  void spend(std::int64_t ns) {
    if (ns == 0) return;
    const auto found = std::find_if(active_.begin(), active_.end(), [](const auto& set) { return !set.empty(); });
    const auto part = found == active_.end() ? TracePart::idle_host : static_cast<TracePart>(found - active_.begin());
    if (is_idle(part)) {
      shares_[{part, "", ""}] += ns;
    } else {
      const auto& activity = activities_[found->begin()->second];
      shares_[{part, activity.name, activity.phase}] += ns;
    }
    if (!active_[static_cast<std::size_t>(TracePart::collective)].empty()) collective_ns_ += ns;
  }

  void take(StepSplit& into) {
    for (const auto& [key, ns] : shares_)
      into.shares.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
    into.collective_ns = collective_ns_;
    shares_.clear();
    collective_ns_ = 0;
  }

 private:
  const std::vector<Activity>& activities_;
  std::array<std::set<std::pair<std::int64_t, std::size_t>>, kTraceParts> active_;  // by start
  std::map<std::tuple<TracePart, std::string, std::string>, std::int64_t> shares_;
  std::int64_t collective_ns_ = 0;
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

std::vector<StepSplit> split_steps(const RankTrace& trace) {
  const auto all = activities(trace);
  const auto changes = changes_of(all);
  auto next = changes.begin();
  Running running(all);
  std::vector<StepSplit> out;
  // Steps do not overlap (trace_file.h), so one pass over the changes serves them all.
  for (const auto* step : steps_of(trace)) {
    // Time between two steps belongs to no step.
    for (; next != changes.end() && next->at_ns < step->start_ns; ++next) running.apply(*next);
    std::int64_t now = step->start_ns;
    for (; next != changes.end() && next->at_ns < step->end_ns; ++next) {
      running.spend(next->at_ns - now);
      now = next->at_ns;
      running.apply(*next);
    }
    running.spend(step->end_ns - now);
    StepSplit split{.rank = trace.rank,
                    .step = step->step,
                    .wall_ns = step->end_ns - step->start_ns,
                    .dropped_records = trace.end.dropped_records};
    running.take(split);
    out.push_back(std::move(split));
  }
  return out;
}

std::vector<StepSplit> split_steps(const std::vector<RankTrace>& traces) {
  std::vector<StepSplit> out;
  for (const auto& trace : traces) {
    auto splits = split_steps(trace);
    std::move(splits.begin(), splits.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace perfbench::harness
