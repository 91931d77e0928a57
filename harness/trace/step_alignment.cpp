#include "harness/trace/step_alignment.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "harness/trace/activities.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;

struct MiddleStep {
  std::int64_t step = 0;
  std::int64_t wall_ns = 0;
};

// The step of middle duration, as the slowest rank measured it.
std::optional<MiddleStep> middle_step(const std::vector<RankTrace>& traces) {
  std::map<std::int64_t, std::int64_t> wall_ns;
  for (const auto& trace : traces) {
    for (const auto& event : trace.events) {
      if (event.kind != TraceKind::step) continue;
      auto& slowest = wall_ns[event.step];
      slowest = std::max(slowest, event.end_ns - event.start_ns);
    }
  }
  std::vector<MiddleStep> steps;
  for (const auto& [step, ns] : wall_ns) steps.push_back({step, ns});
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const auto& x, const auto& y) { return x.wall_ns < y.wall_ns; });
  return *middle;
}

// The activities of a rank in that step, by start, relative to the start of the step.
std::vector<Activity> executed(const RankTrace& trace, std::int64_t step) {
  std::int64_t begin_ns = 0;
  for (const auto& event : trace.events) {
    if (event.step == step && event.kind == TraceKind::step) begin_ns = event.start_ns;
  }
  auto out = activities(trace, step);
  for (auto& activity : out) {
    activity.start_ns -= begin_ns;
    activity.end_ns -= begin_ns;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; });
  return out;
}

OperationTime time_of(const Activity& activity) {
  return {.start_ns = activity.start_ns, .end_ns = activity.end_ns};
}

AlignedOperation operation(std::int64_t rank, const Activity& activity) {
  return {.rank = rank, .name = activity.name, .phase = activity.phase, .range = activity.range, .a = {}, .b = {}};
}

void align_rank(std::int64_t rank, const std::vector<Activity>& a, const std::vector<Activity>& b,
                std::vector<AlignedOperation>& out) {
  using Key = std::tuple<std::string, std::string, std::string>;
  const auto key_of = [](const Activity& activity) { return Key(activity.name, activity.phase, activity.range); };
  std::map<Key, std::vector<std::size_t>> a_by_key;
  for (std::size_t i = 0; i < a.size(); ++i) a_by_key[key_of(a[i])].push_back(i);
  std::map<Key, std::size_t> taken;
  std::vector<const Activity*> partner(a.size());  // the matching operation in B, by index in A
  std::vector<std::vector<const Activity*>> behind(
      a.size() + 1);  // operations that only B has, by the index in A that they follow, plus one
  std::size_t place = 0;
  for (const auto& activity : b) {
    const auto key = key_of(activity);
    const auto& in_a = a_by_key[key];
    const auto nth = taken[key]++;
    if (nth < in_a.size()) {
      partner[in_a[nth]] = &activity;
      place = in_a[nth] + 1;
    } else {
      behind[place].push_back(&activity);
    }
  }
  const auto add_own = [&](std::size_t at) {
    for (const auto* activity : behind[at]) {
      out.push_back(operation(rank, *activity));
      out.back().b = time_of(*activity);
    }
  };
  add_own(0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    out.push_back(operation(rank, a[i]));
    out.back().a = time_of(a[i]);
    if (partner[i] != nullptr) out.back().b = time_of(*partner[i]);
    add_own(i + 1);
  }
}

}  // namespace

std::optional<StepAlignment> align_steps(const std::vector<RankTrace>& a, const std::vector<RankTrace>& b) {
  const auto a_step = middle_step(a);
  const auto b_step = middle_step(b);
  if (!a_step || !b_step) return std::nullopt;
  StepAlignment out{.a_step = a_step->step,
                    .b_step = b_step->step,
                    .a_wall_ns = a_step->wall_ns,
                    .b_wall_ns = b_step->wall_ns,
                    .operations = {}};
  bool any = false;
  for (const auto& left : a) {
    const auto right =
        std::find_if(b.begin(), b.end(), [&](const RankTrace& trace) { return trace.rank == left.rank; });
    if (right == b.end()) continue;
    any = true;
    align_rank(left.rank, executed(left, out.a_step), executed(*right, out.b_step), out.operations);
  }
  if (!any) return std::nullopt;
  return out;
}

}  // namespace perfbench::harness
