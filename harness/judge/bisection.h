// The search for the first bad commit: which one to look at next, and what is known at the end. Knows no git and runs
// nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

// skipped: nothing can be said of it; it cannot be built, or its comparison decides nothing.
enum class StepOutcome { good, bad, skipped };

struct BisectionStep {
  std::size_t index = 0;  // of the commit
  StepOutcome outcome = StepOutcome::skipped;
};

// The index to look at next among commits 0 .. count-1, oldest first, of which the last is known to be bad and what
// lies before the first is known to be good: nearest to the middle of those still possible, skipped ones left out.
// `count` when there is none.
std::size_t next_step(std::size_t count, const std::vector<BisectionStep>& steps);

struct Candidates {
  std::size_t first = 0;  // the first bad commit is among first .. last
  std::size_t last = 0;

  bool is_one() const { return first == last; }
};

// What the steps leave possible. A commit between two that are good counts as good.
Candidates candidates(std::size_t count, const std::vector<BisectionStep>& steps);

// Looks until one is left, or all that remain in between are skipped.
Candidates bisect(std::size_t count, const std::function<StepOutcome(std::size_t index)>& look);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::StepOutcome> {
  using O = perfbench::harness::StepOutcome;
  static constexpr std::array kNames{std::pair{O::good, "good"}, std::pair{O::bad, "bad"},
                                     std::pair{O::skipped, "skipped"}};
};
