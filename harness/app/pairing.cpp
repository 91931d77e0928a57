#include "harness/app/pairing.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "harness/cancelled.h"
#include "harness/input_error.h"
#include "harness/launch/process.h"
#include "reports/format/quantity.h"

namespace perfbench::harness {
namespace {

// Asks the engine, as one of an earlier revision may not know them.
bool knows_turns(const AbSide& side, int cancel_fd) {
  constexpr auto kLongest = std::chrono::minutes(1);
  const auto end =
      run_process(side.engine.request({"check", "--turns"}), {.time_limit = kLongest, .cancel_fd = cancel_fd});
  if (end.cancel_seen) throw Cancelled("[compare] cancelled; nothing was run");
  return end.succeeded();
}

}  // namespace

std::string why_apart(const AbCell& cell, const CellMemory& a, const CellMemory& b) {
  for (const auto side : {Side::a, Side::b}) {
    const auto& run = cell.of(side).run;
    if (run.device != spec::Device::cpu) {
      return fmt::format(
          "{} runs on a GPU: how its driver shares one between two live processes, and what a step leaves in its "
          "queues, is not known, so that turns would promise more than they hold",
          spec::enum_name(side));
    }
    if (run.checkpoint.saves() && run.checkpoint.asynchronous) {
      return fmt::format("{} writes checkpoints while it waits for its turn", spec::enum_name(side));
    }
  }
  const auto needed = a.needed_bytes + b.needed_bytes;
  const auto available = std::min(a.available_bytes, b.available_bytes);
  if (available == 0) return "this machine's memory was not part of its plan (hardware: host)";
  if (needed <= available) return "";
  return fmt::format("both together need {}, this machine has {}", reports::human_bytes(needed),
                     reports::human_bytes(available));
}

CellMemory memory_of(const PlannedCell& planned) {
  const auto& run = planned.cell.run;
  if (!planned.counts || run.hardware != "host") return {};
  const auto ranks = run.mesh.devices();
  return {needed_by_all(run, *planned.counts), planned.memory_available_bytes * ranks};
}

void choose_pairing(std::vector<AbCell>& cells, const AbSide& a, const AbSide& b, Pairing pairing,
                    const SidesMemory& memory, int cancel_fd) {
  std::string for_all;
  if (pairing == Pairing::apart) for_all = "--pairing apart";
  for (const auto* side : {&a, &b}) {
    if (for_all.empty() && !knows_turns(*side, cancel_fd))
      for_all = fmt::format("the engine of {} has no --turns", side->asked);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto& cell = cells[i];
    if (cell.not_comparable) continue;
    cell.apart_because = for_all.empty() ? why_apart(cell, memory[0][i], memory[1][i]) : for_all;
    cell.in_turns = cell.apart_because.empty();
    if (cell.in_turns || pairing != Pairing::turns) continue;
    throw InputError(fmt::format("[compare] --pairing turns: {}: {}; leave it out, or ask for --pairing apart",
                                 cell.label, cell.apart_because));
  }
}

}  // namespace perfbench::harness
