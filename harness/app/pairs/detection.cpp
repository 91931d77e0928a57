#include "harness/app/pairs/detection.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "harness/execute/interruption.h"
#include "harness/execute/process.h"
#include "harness/pairs/ab_run.h"
#include "harness/stats/log_difference.h"
#include "harness/stats/pairs.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "harness/system/run_id.h"
#include "reports/render/format/number.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

constexpr double kSecondsOfNs = 1e-9;

Cell with_steps(Cell cell, std::size_t steps) {
  cell.run.steps = static_cast<std::int64_t>(steps);
  cell.run.profile = {};  // profiled steps do not take turns
  cell.run_id = run_id(cell.run);
  return cell;
}

void set_steps(AbCell& cell, std::size_t steps) {
  cell.a = with_steps(cell.a, steps);
  cell.b = with_steps(cell.b, steps);
}

// The number of turns that the time limit of a run allows. Only the run's own steps count, not those of the other side.
std::size_t turns_within(std::chrono::nanoseconds limit, const Pilot& pilot) {
  constexpr double kOfLimit = 0.8;
  if (limit.count() <= 0) return pilot.most_turns;
  const double left_s = kOfLimit * static_cast<double>(limit.count()) * kSecondsOfNs - pilot.start_s;
  return left_s <= 0 ? 0 : static_cast<std::size_t>(2 * left_s / pilot.turn_s);
}

// The results of the pilot pairs of one cell.
struct PilotOutcome {
  std::optional<Pilot> pilot;
  double took_s = 0;
  bool cancelled = false;
};

PilotOutcome run_pilots(AbCell cell, std::size_t index, const SideExecution& execution, std::uint64_t seed,
                        Interruption& interruption) {
  set_steps(cell, kPilotSteps);
  PilotOutcome out;
  std::vector<PilotPair> pairs;
  for (std::size_t i = 1; i <= kPilotPairs; ++i) {
    out.cancelled = interruption.take();
    if (out.cancelled) return out;
    ExecutedPair pair{.cell = index, .number = i, .first = i % 2 == 0 ? Side::b : Side::a};
    StepsInTurns steps;
    const auto before = std::chrono::steady_clock::now();
    execute_in_turns(execution, cell, ~seed, pair, &steps);  // another order than that of the tested pairs
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    out.took_s += took.count();
    out.cancelled = pair.a.state == AttemptState::cancelled || pair.b.state == AttemptState::cancelled;
    const bool ended_well = pair.a.state == AttemptState::ok && pair.b.state == AttemptState::ok;
    if (out.cancelled || !ended_well) return out;
    pairs.push_back({.a_step_s = std::move(steps.a_s), .b_step_s = std::move(steps.b_s), .wall_s = took.count()});
  }
  out.pilot = read_pilot(pairs);
  if (out.pilot) out.pilot->most_turns = turns_within(execution.settings.time_limit, *out.pilot);
  return out;
}

std::string plan_text(const Detection& asked, const Pilot& pilot, std::size_t pairs, std::size_t turns, double cost_s) {
  return fmt::format(
      "--detect {}: at most {} pairs of {} turns, {}; planned from {} pilot pairs, in which a turn deviates by {}, a "
      "start takes {:.2g} s and a turn {:.2g} s",
      percent(asked.fraction), pairs, turns, reports::format_duration(cost_s), kPilotPairs,
      percent(pilot.turn_deviation), pilot.start_s, pilot.turn_s);
}

std::string refusal_text(const Detection& asked, const Pilot& pilot, std::size_t pairs, double cost_s, double left_s) {
  return fmt::format(
      "detecting {} takes {:.1f} minutes here ({} pairs, and a turn deviates by {}), and --within {} leaves {:.1f} "
      "minutes: nothing was tested; allow more time, or --detect a larger difference",
      percent(asked.fraction), cost_s / 60, pairs, percent(pilot.turn_deviation),
      reports::format_duration(asked.within_s.value_or(0)), std::max(0.0, left_s) / 60);
}

}  // namespace

std::size_t apply_pilots(std::vector<AbCell>& cells, const std::vector<std::optional<Pilot>>& pilots,
                         const Detection& asked, double spent_s) {
  std::vector<Pilot> known;
  for (const auto& pilot : pilots) {
    if (pilot) known.push_back(*pilot);
  }
  const auto plan = plan_detection(known, asked.fraction);
  double left_s = asked.within_s.value_or(0) - spent_s;
  std::size_t place = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!pilots[i]) continue;
    const auto turns = plan.turns[place];
    const double cost_s = plan.cost_s[place++];
    if (turns == 0) {
      cells[i].not_planned = fmt::format(
          "detecting {} takes longer runs than --timeout allows, or the difference is smaller than that of two process "
          "runs: a turn deviates by {}",
          percent(asked.fraction), percent(pilots[i]->turn_deviation));
    } else if (asked.within_s && cost_s > left_s) {
      cells[i].not_planned = refusal_text(asked, *pilots[i], plan.pairs, cost_s, left_s);
    } else {
      left_s -= cost_s;
      cells[i].plan = plan_text(asked, *pilots[i], plan.pairs, turns, cost_s);
      set_steps(cells[i], turns + pilots[i]->warmup_steps);
    }
  }
  return plan.pairs;
}

PlannedCells plan_pairs(std::vector<AbCell>& cells, const Detection& asked, const SideExecution& execution,
                        std::uint64_t seed, AbProgress& progress, Interruption& interruption) {
  std::vector<std::optional<Pilot>> pilots(cells.size());
  double spent_s = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto& cell = cells[i];
    if (cell.not_comparable) continue;
    if (!cell.in_turns) {
      cell.not_planned = "--detect plans pairs in turns, but these runs follow each other: " + cell.apart_because;
      continue;
    }
    progress.say(fmt::format("pilot pairs: {}", cell.label));
    const auto outcome = run_pilots(cell, i, execution, seed, interruption);
    if (outcome.cancelled) return {.pairs = 0, .cancelled = true};
    pilots[i] = outcome.pilot;
    spent_s += outcome.took_s;
  }
  const auto pairs = apply_pilots(cells, pilots, asked, spent_s);
  for (const auto& cell : cells) {
    if (!cell.plan.empty()) progress.say(cell.plan);
    if (cell.not_planned) progress.say("not run: " + cell.label + ": " + *cell.not_planned);
  }
  return {.pairs = pairs};
}

namespace {

// Asks the engine, because one of an earlier revision may not support turns.
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
    if (run.program && !run.program->spec.turns) {
      return "the program does not call the hook for turns (`turns: true` says that it does)";
    }
    if (run.program) continue;
    if (run.device != spec::Device::cpu) {
      return fmt::format(
          "{} runs on a GPU: it is unknown how its driver shares the GPU between two live processes, and what a step "
          "leaves in its queues, so turns could mislead",
          spec::enum_name(side));
    }
    if (run.checkpoint.saves() && run.checkpoint.asynchronous) {
      return fmt::format("{} writes checkpoints while it waits for its turn", spec::enum_name(side));
    }
  }
  if (cell.a.run.program) return "";
  const auto needed = a.needed_bytes + b.needed_bytes;
  const auto available = std::min(a.available_bytes, b.available_bytes);
  if (available == 0) return "this machine's memory was not part of its plan (hardware: host)";
  if (needed <= available) return "";
  return fmt::format("both together need {}, but this machine has {}", reports::human_bytes(needed),
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
    throw InputError(fmt::format("[compare] --pairing turns: {}: {}; leave it out, or use --pairing apart", cell.label,
                                 cell.apart_because));
  }
}

}  // namespace perfbench::harness
