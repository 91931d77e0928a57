#include "engine/train/dry_walk.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/train/assembly.h"
#include "engine/train/memory_course.h"
#include "engine/train/peak_witness.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/validate.h"

namespace perfbench::engine {
namespace {

// Memory, operations and collectives that only count.
Backend dry_backend(const spec::RunSpec& run, std::int64_t rank) {
  Backend backend;
  backend.device_memory = make_dry_backing();
  backend.host_memory = make_dry_backing();
  backend.ops = make_dry_ops();
  backend.collectives = make_dry_collectives(Mesh(run.mesh, rank), communication(run));
  return backend;
}

class DryRun : public Assembly {
 public:
  DryRun(const spec::RunSpec& run, std::int64_t rank) : Assembly(run, dry_backend(run, rank), {}) {}
};

void count_step(DryRun& dry, const spec::RunSpec& run, spec::DryReport& report) {
  IntermediateLog intermediates;
  // Evaluations keep no intermediates, whatever the policy says.
  if (run.trains()) dry.context().intermediates = &intermediates;
  dry.trainer().step(0);
  dry.context().intermediates = nullptr;
  report.flops = dry.context().ops.flops();
  report.traffic = dry.context().collectives.traffic();
  report.intermediates = intermediates.kinds();
  for (const auto& kind : report.intermediates) {
    if (kind.place == spec::SavePlace::offload) report.offloaded_bytes += kind.times * kind.bytes;
  }
}

template <class Report>
void refuse(Report& report, std::string reason) {
  report.feasible = false;
  report.reason = std::move(reason);
}

template <class Report>
void hold_to_limit(Report& report, const spec::RunSpec& run, std::int64_t arena_bytes) {
  if (run.memory_limit_bytes == 0 || arena_bytes <= run.memory_limit_bytes) return;
  refuse(report, "needs " + std::to_string(arena_bytes) + " bytes per device, memory_limit_bytes is " +
                     std::to_string(run.memory_limit_bytes));
}

// Keeps the report that needs more memory: it exceeds the device's limit if either does.
void keep_worse(spec::DryReport& worst, spec::DryReport report) {
  if (spec::needed_bytes(report) > spec::needed_bytes(worst)) std::swap(worst, report);
}

// The rank of a stage that needs the most memory; `mesh` is that of the first one. Ranks differ in memory only along
// tp, and only if tp does not divide a dim: one rank for each size of part is walked. A smaller part may need the
// larger arena, because it fills gaps differently.
spec::DryReport walk_stage(const spec::RunSpec& run, const Mesh& mesh) {
  auto worst = dry_walk(run, mesh.rank());
  const auto ranks = mesh.ranks(mesh.group(Axis::tp));
  std::set<std::int64_t> others;
  for (const auto dim : {run.model.d_ff, run.model.moe.d_ff, run.model.vocab_size}) {
    others.insert(first_of_smaller_part(dim, mesh.size(Axis::tp)));
  }
  others.erase(0);
  for (const auto index : others) keep_worse(worst, dry_walk(run, ranks[static_cast<std::size_t>(index)]));
  return worst;
}

}  // namespace

spec::DryReport dry_walk(const spec::RunSpec& run, std::int64_t rank) {
  spec::DryReport report;
  report.rank = rank;
  const auto counts = spec::count_parameters(run.model);
  report.parameters = counts.total;
  report.matmul_parameters = counts.matmul_active;
  if (const auto reason = spec::unsupported(run)) {
    refuse(report, *reason);
    return report;
  }
  DryRun dry(run, rank);
  PeakWitness witness(dry.context(), "setup");
  dry.context().collectives.reset_traffic();
  count_step(dry, run, report);
  witness.enter("evaluation");
  dry.trainer().evaluate_at_end();  // allocates from the same arena
  const MemoryLedger& ledger = dry.memory().ledger();
  report.peak = ledger.peaks();
  report.peak_at = witness.moment();
  report.arena_bytes = dry.memory().device_extent_bytes();
  report.live_at_peak = ledger.live_at_peak();
  report.host_at_peak = ledger.on_host_at_peak();
  hold_to_limit(report, run, report.arena_bytes);
  return report;
}

spec::DryReport dry_walk_of_worst(const spec::RunSpec& run) {
  if (spec::unsupported(run)) return dry_walk(run, 0);
  Mesh mesh(run.mesh, 0);
  auto worst = walk_stage(run, mesh);
  const auto shape = pipeline_of(run);
  if (shape.stages == 1) return worst;
  std::vector<spec::StageCounts> stages;
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    auto report = stage == 0 ? worst : walk_stage(run, mesh);
    std::int64_t layers = 0;
    for (const auto& chunk : chunks_of_stage(run, stage)) layers += chunk.layers;
    stages.push_back({.stage = stage,
                      .rank = report.rank,
                      .layers = layers,
                      .peak = report.peak,
                      .arena_bytes = report.arena_bytes,
                      .flops = report.flops,
                      .traffic = report.traffic});
    mesh = Mesh(run.mesh, mesh.neighbour(Axis::pp, Heading::onward));
    keep_worse(worst, std::move(report));
  }
  worst.bubble_fraction = equal_stages_bubble(shape);
  worst.stages = std::move(stages);
  return worst;
}

namespace {

// The table has the rows of an operation behind each other.
void add_row(std::vector<spec::OperationWork>& out, const spec::OperationWork& work, OperationRows rows) {
  if (rows == OperationRows::by_form) {
    out.push_back(work);
    return;
  }
  if (out.empty() || out.back().operation != work.operation) out.push_back({.operation = work.operation});
  out.back().calls += work.calls;
  out.back().flops += work.flops;
  out.back().bytes += work.bytes;
}

}  // namespace

std::vector<spec::MemorySample> memory_course(const spec::RunSpec& run, std::int64_t rank) {
  DryRun dry(run, rank);
  const MemoryCourse course(dry.context());
  dry.trainer().step(0);
  return course.samples();
}

spec::DryOperations count_operations(const spec::RunSpec& run, std::int64_t rank, OperationRows rows) {
  spec::DryOperations report;
  report.rank = rank;
  if (const auto reason = spec::unsupported(run)) {
    refuse(report, *reason);
    return report;
  }
  DryRun dry(run, rank);
  OperationTable table;
  dry.context().ops.set_table(&table);
  dry.trainer().step(0);
  for (const auto& [key, work] : table) add_row(report.operations, work, rows);
  dry.context().ops.set_table(nullptr);
  dry.trainer().evaluate_at_end();
  hold_to_limit(report, run, dry.memory().device_extent_bytes());
  return report;
}

ArenaExtents arena_extents(const spec::RunSpec& run, std::int64_t rank) {
  DryRun dry(run, rank);
  dry.trainer().step(0);
  dry.trainer().evaluate_at_end();
  return {dry.memory().device_extent_bytes(), dry.memory().host_extent_bytes()};
}

SpanCounts count_spans(const spec::RunSpec& run, std::int64_t rank) {
  DryRun dry(run, rank);
  SpanCounter counter;
  dry.context().set_trace(&counter);
  dry.trainer().step(0);
  return counter.counts();
}

}  // namespace perfbench::engine
