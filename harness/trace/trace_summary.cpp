#include "harness/trace/trace_summary.h"

#include <array>
#include <cstddef>

#include "harness/trace/step_split.h"

namespace perfbench::harness {
namespace {

constexpr std::array<std::int64_t TraceSummary::*, kTraceParts> kPartFields{
    &TraceSummary::gemm_ns,        &TraceSummary::attention_ns,    &TraceSummary::norm_ns,
    &TraceSummary::elementwise_ns, &TraceSummary::optimizer_ns,    &TraceSummary::other_ns,
    &TraceSummary::copy_ns,        &TraceSummary::exposed_comm_ns, &TraceSummary::idle_dependency_ns,
    &TraceSummary::idle_host_ns};

TraceSummary summary_of(const StepSplit& split) {
  TraceSummary summary{.rank = split.rank,
                       .step = split.step,
                       .wall_ns = split.wall_ns,
                       .collective_ns = split.collective_ns,
                       .dropped_records = split.dropped_records};
  for (const auto& share : split.shares) summary.*kPartFields[static_cast<std::size_t>(share.part)] += share.ns;
  return summary;
}

}  // namespace

std::vector<TraceSummary> summarise(const RankTrace& trace) {
  std::vector<TraceSummary> out;
  for (const auto& split : split_steps(trace)) out.push_back(summary_of(split));
  return out;
}

std::vector<TraceSummary> summarise(const std::vector<RankTrace>& traces) {
  std::vector<TraceSummary> out;
  for (const auto& trace : traces) {
    const auto of_rank = summarise(trace);
    out.insert(out.end(), of_rank.begin(), of_rank.end());
  }
  return out;
}

}  // namespace perfbench::harness
