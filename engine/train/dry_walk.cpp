#include "engine/train/dry_walk.h"

#include "engine/train/trainer.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/validate.h"

namespace perfbench::engine {

spec::DryReport dry_walk(const spec::RunSpec& run, std::int64_t rank) {
  spec::DryReport report;
  report.rank = rank;
  const auto counts = spec::count_parameters(run.model);
  report.parameters = counts.total;
  report.matmul_parameters = counts.matmul_active;
  if (const auto reason = spec::unsupported(run)) {
    report.feasible = false;
    report.reason = *reason;
    return report;
  }
  Memory memory(make_dry_backing(), make_dry_backing(), {.log = LedgerLog::on});
  const auto ops = make_dry_ops();
  const auto collectives = make_dry_collectives(Mesh(run.mesh, rank));
  PhaseClock clock;
  Context context{*ops, memory, *collectives, clock, compute_dtype(run.precision)};
  Trainer trainer(context, run, init_rule(run), nullptr);
  collectives->reset_traffic();
  trainer.step(0);
  report.peak = memory.ledger().peaks();
  report.arena_bytes = memory.device_extent_bytes();
  report.live_at_peak = memory.ledger().live_at_peak();
  report.flops = ops->flops();
  report.traffic = collectives->traffic();
  if (run.memory_limit_bytes > 0 && report.arena_bytes > run.memory_limit_bytes) {
    report.feasible = false;
    report.reason = "needs " + std::to_string(report.arena_bytes) + " bytes per device, memory_limit_bytes is " +
                    std::to_string(run.memory_limit_bytes);
  }
  return report;
}

}  // namespace perfbench::engine
