#include "harness/trace/activities.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace perfbench::harness {
namespace {

using spec::TraceEvent;
using spec::TraceKind;

// The engine's spans around an event of the host, including the event itself.
struct Surroundings {
  std::optional<TracePart> part;  // part of the innermost operation or collective
  std::string_view name;          // its name
  std::string_view phase;         // of the innermost phase
  std::size_t range = 0;          // the innermost part of the model: the index of its event plus one
};

bool on_host(const TraceEvent& event) {
  return event.device == spec::kHostDevice;
}

void step_into(Surroundings& around, const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::phase:
      around.phase = event.name;
      break;
    case TraceKind::op:
    case TraceKind::copy:
    case TraceKind::memset:
    case TraceKind::submit:
    case TraceKind::collective:
      around.part = part_of_span(event.kind, event.name);
      around.name = event.name;
      break;
    default:
      break;
  }
}

// By index of event; empty for device events. Goes through the spans of every lane by their start, with a stack of the
// open ones. Spans that overlap without nesting, which no engine writes, are treated as neighbours. `around` receives
// the enclosing range of each range, as Surroundings::range.
std::vector<Surroundings> all_surroundings(const std::vector<TraceEvent>& events, std::vector<std::size_t>& around) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (on_host(events[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& x = events[a];
    const auto& y = events[b];
    if (x.lane != y.lane) return x.lane < y.lane;
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    return x.end_ns > y.end_ns;
  });
  std::vector<Surroundings> out(events.size());
  std::vector<std::size_t> open;
  for (const auto i : order) {
    const auto& event = events[i];
    const auto surrounds = [&](const TraceEvent& outer) {
      return outer.lane == event.lane && outer.end_ns >= event.end_ns && outer.start_ns <= event.start_ns;
    };
    while (!open.empty() && !surrounds(events[open.back()])) open.pop_back();
    if (!open.empty()) out[i] = out[open.back()];
    step_into(out[i], event);
    if (event.kind == TraceKind::range) {
      around[i] = out[i].range;
      out[i].range = i + 1;
    }
    open.push_back(i);
  }
  return out;
}

class Sorter {
 public:
  explicit Sorter(const RankTrace& trace)
      : events_(trace.events), outer_(trace.events.size()), around_(all_surroundings(trace.events, outer_)) {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const auto& event = events_[i];
      on_device_ = on_device_ || !on_host(event);
      if (event.correlation == 0) continue;
      if (event.kind == TraceKind::host_call) calls_.emplace(event.correlation, i);
      if (event.kind == TraceKind::submit) submissions_.emplace(event.correlation, i);
    }
  }

  std::vector<Activity> all() const {
    std::vector<Activity> out;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!executes(events_[i])) continue;
      const auto& event = events_[i];
      const auto call = caller(event);
      const auto& around = around_[call.value_or(i)];
      out.push_back({.part = part(event, around),
                     .name = name(event, around),
                     .phase = std::string(phase(event, around)),
                     .range = range_text(around.range),
                     .start_ns = event.start_ns,
                     .end_ns = event.end_ns,
                     .submitted_ns = call ? std::min(events_[*call].end_ns, event.start_ns) : event.start_ns,
                     .axis = event.axis,
                     .heading = event.heading,
                     .entered_ns = call && is_message(event) ? events_[*call].start_ns : event.start_ns});
    }
    return out;
  }

 private:
  bool executes(const TraceEvent& event) const {
    switch (event.kind) {
      case TraceKind::kernel:
      case TraceKind::collective:
        return true;
      case TraceKind::op:
      case TraceKind::copy:
      case TraceKind::memset:
        return !on_host(event) || !on_device_;  // beside a device, the host's span is only the submission
      default:
        return false;
    }
  }

  static bool is_message(const TraceEvent& event) { return on_host(event) && !event.heading.empty(); }

  // Collectives of a device have the device's numbers, which equal those of submissions only by chance.
  std::optional<std::size_t> caller(const TraceEvent& event) const {
    const auto& callers = event.kind == TraceKind::collective && on_host(event) ? submissions_ : calls_;
    const auto found = callers.find(event.correlation);
    if (event.correlation == 0 || found == callers.end()) return std::nullopt;
    return found->second;
  }

  static std::string name(const TraceEvent& event, const Surroundings& around) {
    if (!around.name.empty()) return std::string(around.name);
    return event.name.empty() ? event.kernel_name : event.name;
  }

  // Replayed work was submitted all at once. It belongs to the phase in which it was recorded.
  static std::string_view phase(const TraceEvent& event, const Surroundings& around) {
    return event.phase.empty() ? around.phase : event.phase;
  }

  static TracePart part(const TraceEvent& event, const Surroundings& around) {
    if (event.kind == TraceKind::collective) return TracePart::collective;
    if (event.kind != TraceKind::kernel && event.kind != TraceKind::op) return TracePart::copy;
    auto found = around.part;
    if (!found) found = part_of_span(event.kind, event.name);
    if (!found) found = part_of_kernel(event.kernel_name);
    const bool in_optimizer = phase(event, around) == spec::enum_name(spec::TracePhase::optimizer);
    return in_optimizer && *found == TracePart::elementwise ? TracePart::optimizer : *found;
  }

  // The innermost few ranges, outermost first: an engine nests them two deep.
  std::string range_text(std::size_t range) const {
    constexpr int kDeepest = 4;
    std::string out;
    for (int depth = 0; range != 0 && depth < kDeepest; ++depth, range = outer_[range - 1]) {
      out = events_[range - 1].name + (out.empty() ? "" : " ") + out;
    }
    return out;
  }

  const std::vector<TraceEvent>& events_;
  std::vector<std::size_t> outer_;  // the enclosing range of each range
  std::vector<Surroundings> around_;
  std::unordered_map<std::int64_t, std::size_t> calls_;        // host_call by correlation
  std::unordered_map<std::int64_t, std::size_t> submissions_;  // submit by correlation
  bool on_device_ = false;
};

}  // namespace

std::vector<Activity> activities(const RankTrace& trace) {
  return Sorter(trace).all();
}

std::vector<Activity> activities(const RankTrace& trace, std::int64_t step) {
  RankTrace of_step{.rank = trace.rank, .events = {}, .end = trace.end};
  std::copy_if(trace.events.begin(), trace.events.end(), std::back_inserter(of_step.events),
               [step](const TraceEvent& event) { return event.step == step; });
  return activities(of_step);
}

}  // namespace perfbench::harness
