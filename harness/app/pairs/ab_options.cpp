#include "harness/app/pairs/ab_options.h"

#include <algorithm>

#include "harness/stats/detection.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

// If B fails in every pair and A in none, the sixth failure distinguishes that from chance (failed_side,
// cell_verdict.cpp); this is how many are replaced before it.
constexpr std::size_t kFewestReplacements = 5;

constexpr const char* kDetected = "step_time_s";

// The margin of the median step is the requested difference.
std::vector<MetricRule> detection_metrics(const AbOptions& options) {
  const auto& margins = options.margins;
  auto names = options.metrics;
  if (names.empty() && options.detection_judges == DetectionJudges::median_step) {
    names = {kDetected, "peak_memory_bytes", "final_loss"};
  }
  auto rules = metric_rules(names, margins);
  const auto detected = std::find_if(rules.begin(), rules.end(), [](const auto& r) { return r.metric == kDetected; });
  if (detected == rules.end()) {
    throw InputError("[compare] --detect plans pairs for step_time_s, which is not among --metrics");
  }
  const bool has_margin = std::any_of(margins.begin(), margins.end(), [](const std::string& words) {
    return words.starts_with(std::string(kDetected) + "=");
  });
  if (!has_margin) detected->margin_fraction = options.detection->fraction;
  return rules;
}

}  // namespace

std::size_t AbOptions::pairs_for(double round_s) const {
  auto out = pairs;
  while (2 * out <= kMostPairs && static_cast<double>(2 * out) * round_s <= more_pairs_within_s) out *= 2;
  return out;
}

AbRule AbOptions::rule() const {
  AbRule out;
  out.looks = looks_up_to(pairs);
  if (detection) {
    out.metrics = detection_metrics(*this);
    out.looks = detection_looks(kMostDetectionPairs);
    out.futile_below = kFutileBelow;
  } else {
    out.metrics = metric_rules(metrics, margins);
  }
  out.most_discarded = most_discarded.value_or(std::max(discards_per_pair * out.looks.back(), kFewestReplacements));
  out.spoil = spoil;
  return out;
}

}  // namespace perfbench::harness
