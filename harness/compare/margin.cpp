#include "harness/compare/margin.h"

namespace perfbench::harness {

std::optional<double> usual_margin(const spec::MetricSpec& metric) {
  if (metric.direction == spec::Direction::neutral) return std::nullopt;
  if (metric.tag == "startup_time_s") return 0.10;
  if (metric.tag == "final_loss") return 0.002;
  if (metric.tag == "eval_accuracy" || metric.tag == "eval_perplexity") return 0.005;
  if (metric.unit == "s" || metric.unit == "1/s") return 0.02;
  return metric.unit == "bytes" ? std::optional(0.01) : std::nullopt;
}

}  // namespace perfbench::harness
