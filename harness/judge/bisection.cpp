#include "harness/judge/bisection.h"

#include <algorithm>

namespace perfbench::harness {

Candidates candidates(std::size_t count, const std::vector<BisectionStep>& steps) {
  Candidates out{.first = 0, .last = count - 1};
  for (const auto& step : steps) {
    if (step.outcome == StepOutcome::bad) out.last = std::min(out.last, step.index);
  }
  for (const auto& step : steps) {
    if (step.outcome == StepOutcome::good && step.index < out.last) out.first = std::max(out.first, step.index + 1);
  }
  return out;
}

std::size_t next_step(std::size_t count, const std::vector<BisectionStep>& steps) {
  const auto left = candidates(count, steps);
  const auto is_skipped = [&steps](std::size_t index) {
    return std::any_of(steps.begin(), steps.end(), [index](const auto& step) { return step.index == index; });
  };
  // The last candidate is known to be bad.
  const auto middle = (left.first + left.last) / 2;
  auto best = count;
  const auto distance = [middle](std::size_t index) { return index > middle ? index - middle : middle - index; };
  for (auto index = left.first; index < left.last; ++index) {
    if (!is_skipped(index) && (best == count || distance(index) < distance(best))) best = index;
  }
  return best;
}

Candidates bisect(std::size_t count, const std::function<StepOutcome(std::size_t)>& look) {
  std::vector<BisectionStep> steps;
  for (auto index = next_step(count, steps); index != count; index = next_step(count, steps)) {
    steps.push_back({index, look(index)});
  }
  return candidates(count, steps);
}

}  // namespace perfbench::harness
