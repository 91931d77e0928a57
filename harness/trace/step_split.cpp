#include "harness/trace/step_split.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

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

// Goes through the changes once, from one interval to the next.
class Sweep {
 public:
  explicit Sweep(const std::vector<Activity>& activities)
      : activities_(activities), changes_(changes_of(activities)), next_(changes_.begin()) {}

  // Visits the moments from begin_ns to end_ns as (part, the activity or nullptr if idle, from, to). Intervals of
  // successive calls do not overlap; time between them is skipped.
  template <class Visit>
  void through(std::int64_t begin_ns, std::int64_t end_ns, const Visit& visit) {
    for (; next_ != changes_.end() && next_->at_ns < begin_ns; ++next_) apply(*next_);
    std::int64_t now = begin_ns;
    const auto advance = [&](std::int64_t to_ns) {
      if (to_ns > now) show(now, to_ns, visit);
      now = to_ns;
    };
    for (; next_ != changes_.end() && next_->at_ns < end_ns; ++next_) {
      advance(next_->at_ns);
      apply(*next_);
    }
    advance(end_ns);
  }

  bool any_runs(TracePart part) const { return !active_[static_cast<std::size_t>(part)].empty(); }

 private:
  void apply(const Change& change) {
    auto& active = active_[static_cast<std::size_t>(change.part)];
    const std::pair key{activities_[change.activity].start_ns, change.activity};
    if (change.begins) {
      active.insert(key);
    } else {
      active.erase(key);
    }
  }

  template <class Visit>
  void show(std::int64_t from_ns, std::int64_t to_ns, const Visit& visit) const {
    const auto found = std::find_if(active_.begin(), active_.end(), [](const auto& set) { return !set.empty(); });
    const auto part = found == active_.end() ? TracePart::idle_host : static_cast<TracePart>(found - active_.begin());
    visit(part, is_idle(part) ? nullptr : &activities_[found->begin()->second], from_ns, to_ns);
  }

  const std::vector<Activity>& activities_;
  std::vector<Change> changes_;
  std::vector<Change>::const_iterator next_;
  std::array<std::set<std::pair<std::int64_t, std::size_t>>, kTraceParts> active_;  // by start
};

StepSplit split_of(const spec::TraceEvent& step, Sweep& sweep) {
  StepSplit split{.step = step.step, .wall_ns = step.end_ns - step.start_ns};
  std::map<std::tuple<TracePart, std::string, std::string>, std::int64_t> shares;
  sweep.through(step.start_ns, step.end_ns,
                [&](TracePart part, const Activity* activity, std::int64_t from_ns, std::int64_t to_ns) {
                  shares[{part, activity ? activity->name : "", activity ? activity->phase : ""}] += to_ns - from_ns;
                  if (sweep.any_runs(TracePart::collective)) split.collective_ns += to_ns - from_ns;
                });
  for (const auto& [key, ns] : shares) {
    split.shares.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
  }
  return split;
}

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
  Sweep sweep(all);
  std::vector<StepSplit> out;
  // Steps do not overlap (trace_file.h), so one pass over the changes serves them all.
  for (const auto* step : steps_of(trace)) {
    out.push_back(split_of(*step, sweep));
    out.back().rank = trace.rank;
    out.back().dropped_records = trace.end.dropped_records;
  }
  return out;
}

std::vector<StepStretch> stretches_of(const std::vector<Activity>& activities, std::int64_t begin_ns,
                                      std::int64_t end_ns) {
  std::vector<StepStretch> out;
  const auto add = [&](TracePart part, const Activity* activity, std::int64_t from_ns, std::int64_t to_ns) {
    StepStretch next{part, activity ? activity->name : "", activity ? activity->phase : "", from_ns, to_ns};
    const auto key = [](const StepStretch& stretch) { return std::tie(stretch.part, stretch.name, stretch.phase); };
    if (!out.empty() && key(out.back()) == key(next)) {
      out.back().end_ns = to_ns;
    } else {
      out.push_back(std::move(next));
    }
  };
  Sweep(activities).through(begin_ns, end_ns, add);
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
