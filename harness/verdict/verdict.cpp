#include "harness/verdict/verdict.h"

#include <algorithm>

namespace perfbench::harness {

void conclude(Decision& decision, Verdict verdict, VerdictReason reason, std::string detail) {
  decision.verdict = verdict;
  decision.reason = reason;
  decision.detail = std::move(detail);
}

Verdict direction_verdict(double log_ratio, spec::Direction direction) {
  const bool worse = (log_ratio > 0) == (direction == spec::Direction::lower_is_better);
  return worse ? Verdict::regressed : Verdict::improved;
}

Verdict overall(const std::vector<Verdict>& verdicts) {
  for (const auto verdict : {Verdict::regressed, Verdict::inconclusive, Verdict::improved, Verdict::same}) {
    if (std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end()) return verdict;
  }
  return Verdict::inconclusive;
}

}  // namespace perfbench::harness
