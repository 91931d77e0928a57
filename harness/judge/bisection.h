// The search for the first bad commit: which commit to test next, and the result. It uses no git and runs nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

// skipped: the commit cannot be judged, because it cannot be built or its comparison is inconclusive.
enum class StepOutcome { good, bad, skipped };

struct BisectionStep {
  std::size_t index = 0;  // index of the commit
  StepOutcome outcome = StepOutcome::skipped;
};

// The index to test next among commits 0 .. count-1, oldest first. The last one is known to be bad, and the one
// preceding the first is known to be good. Returns the possible commit nearest to the middle, without skipped ones;
// `count` if there is none.
std::size_t next_step(std::size_t count, const std::vector<BisectionStep>& steps);

struct Candidates {
  std::size_t first = 0;  // the first bad commit is among first .. last
  std::size_t last = 0;

  bool is_one() const { return first == last; }
};

// The candidates that remain after these steps. A commit between two good ones counts as good.
Candidates candidates(std::size_t count, const std::vector<BisectionStep>& steps);

// Tests until one candidate is left, or all that remain in between were skipped.
Candidates bisect(std::size_t count, const std::function<StepOutcome(std::size_t index)>& look);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::StepOutcome> {
  using O = perfbench::harness::StepOutcome;
  static constexpr std::array kNames{std::pair{O::good, "good"}, std::pair{O::bad, "bad"},
                                     std::pair{O::skipped, "skipped"}};
};
