#include "engine/main/run_result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/metrics/environment.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// Facts that the ranks exchange, as bytes.
struct RankFacts {
  spec::RankMemory memory;
  spec::FlopCounts flops;
};
static_assert(std::is_trivially_copyable_v<RankFacts>);

std::vector<RankFacts> facts_of_ranks(const Ranks& ranks, const Context& context, const spec::FlopCounts& flops) {
  const RankFacts own{.memory = {.rank = ranks.rank,
                                 .peak = context.memory.ledger().peaks(),
                                 .arena_bytes = context.memory.device_extent_bytes(),
                                 .resident_bytes = peak_resident_bytes()},
                      .flops = flops};
  std::vector<RankFacts> all(static_cast<std::size_t>(ranks.size), own);
  if (ranks.processes) {
    ranks.processes->all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(&own, 1)));
  }
  return all;
}

spec::FlopCounts mean_flops(const std::vector<RankFacts>& ranks) {
  const auto each = [](spec::FlopCounts counts, auto change) {
    spec::FlopCounts::fields(counts, [&](const spec::Field&, std::int64_t& flops) { flops = change(flops); });
    return counts;
  };
  // Sums differences from the first rank, which stay far below 2^63 where the sum over all ranks may not.
  const auto less = each(ranks.front().flops, [](std::int64_t flops) { return -flops; });
  spec::FlopCounts differences;
  for (const auto& rank : ranks) {
    spec::add(differences, rank.flops);
    spec::add(differences, less);
  }
  const auto count = static_cast<std::int64_t>(ranks.size());
  auto mean = each(differences, [count](std::int64_t flops) { return flops / count; });
  spec::add(mean, ranks.front().flops);
  return mean;
}

}  // namespace

StepCounts counts_of_step(const Context& context) {
  return {.flops = context.ops.flops(), .traffic = context.collectives.traffic()};
}

spec::RunSummary run_result(const spec::RunSpec& run, const Ranks& all, const Context& context,
                            const StepCounts& step) {
  const auto ranks = facts_of_ranks(all, context, step.flops);
  const auto& most = *std::max_element(ranks.begin(), ranks.end(), [&](const auto& a, const auto& b) {
    return spec::needed_bytes(a.memory) < spec::needed_bytes(b.memory);
  });
  std::vector<spec::RankMemory> memory;
  for (const auto& rank : ranks) memory.push_back(rank.memory);
  if (ranks.size() == 1) memory.clear();
  const auto counts = spec::count_parameters(run.model);
  return {.status = "ok",
          .steps = run.steps,
          .peak = most.memory.peak,
          .arena_bytes = most.memory.arena_bytes,
          .resident_bytes = most.memory.resident_bytes,
          .emulated = context.ops.emulates(run.precision),
          .flops = mean_flops(ranks),
          .traffic = step.traffic,
          .parameters = counts.total,
          .matmul_parameters = counts.matmul_active,
          .attention_kernels = context.ops.attention_kernels(),
          .ranks = std::move(memory)};
}

}  // namespace perfbench::engine
