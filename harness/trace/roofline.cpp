#include "harness/trace/roofline.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "harness/trace/activities.h"

namespace perfbench::harness {
namespace {

constexpr double kSecondsOfNs = 1e-9;

struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Time during which at least one of them runs: two kernels of one operation can overlap in two streams.
double covered_s(std::vector<Stretch>& stretches) {
  std::ranges::sort(stretches, {}, &Stretch::start_ns);
  std::int64_t sum = 0;
  std::int64_t covered_to = std::numeric_limits<std::int64_t>::min();
  for (const auto& one : stretches) {
    const auto from = std::max(one.start_ns, covered_to);
    if (one.end_ns <= from) continue;
    sum += one.end_ns - from;
    covered_to = one.end_ns;
  }
  return kSecondsOfNs * static_cast<double>(sum);
}

}  // namespace

double DevicePeaks::attainable_flops_per_s(double flops_per_byte) const {
  return bytes_per_s > 0 ? std::min(flops_per_s, bytes_per_s * flops_per_byte) : flops_per_s;
}

std::optional<double> fraction_of_roof(const OperationRate& rate, const DevicePeaks& peaks) {
  if ((rate.flops == 0 ? peaks.bytes_per_s : peaks.flops_per_s) <= 0) return std::nullopt;
  if (rate.flops == 0) return rate.bytes_per_s() / peaks.bytes_per_s;
  return rate.flops_per_s() / peaks.attainable_flops_per_s(rate.flops_per_byte());
}

std::vector<OperationRate> operation_rates(const RankTrace& trace, const spec::DryOperations& work) {
  std::vector<Stretch> steps;
  double steps_s = 0;
  for (const auto& event : trace.events) {
    if (event.kind != spec::TraceKind::step) continue;
    steps.push_back({event.start_ns, event.end_ns});
    steps_s += kSecondsOfNs * static_cast<double>(event.end_ns - event.start_ns);
  }
  if (steps.empty() || steps_s <= 0 || trace.end.dropped_records > 0) return {};
  std::map<std::string, std::vector<Stretch>> stretches;
  for (const auto& activity : activities(trace)) {
    const bool is_of_a_step = std::ranges::any_of(steps, [&activity](const Stretch& step) {
      return step.start_ns <= activity.start_ns && activity.start_ns < step.end_ns;
    });
    if (is_of_a_step) stretches[activity.name].push_back({activity.start_ns, activity.end_ns});
  }
  std::vector<OperationRate> out;
  for (const auto& one : work.operations) {
    const std::string name(spec::enum_name(one.operation));
    const double all_s = covered_s(stretches[name]);
    if (all_s <= 0) continue;
    out.push_back({.name = name,
                   .calls = one.calls,
                   .flops = one.flops,
                   .bytes = one.bytes,
                   .time_s = all_s / static_cast<double>(steps.size()),
                   .step_fraction = all_s / steps_s});
  }
  std::ranges::stable_sort(out, std::greater<>(), &OperationRate::time_s);
  return out;
}

}  // namespace perfbench::harness
