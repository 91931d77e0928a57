#include "harness/app/detection.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "harness/ab/ab_progress.h"
#include "harness/identity/run_id.h"
#include "harness/run/interruption.h"
#include "harness/run/progress.h"
#include "harness/stats/log_difference.h"
#include "harness/stats/pair_order.h"

namespace perfbench::harness {
namespace {

constexpr double kSecondsOfNs = 1e-9;

Cell with_steps(Cell cell, std::size_t steps) {
  cell.run.steps = static_cast<std::int64_t>(steps);
  cell.run.profile = {};  // whose steps are no turns
  cell.run_id = run_id(cell.run);
  return cell;
}

void set_steps(AbCell& cell, std::size_t steps) {
  cell.a = with_steps(cell.a, steps);
  cell.b = with_steps(cell.b, steps);
}

// What the time limit of a run leaves for its turns: its own steps, without those of the other side.
std::size_t turns_within(std::chrono::nanoseconds limit, const Pilot& pilot) {
  constexpr double kOfLimit = 0.8;
  if (limit.count() <= 0) return pilot.most_turns;
  const double left_s = kOfLimit * static_cast<double>(limit.count()) * kSecondsOfNs - pilot.start_s;
  return left_s <= 0 ? 0 : static_cast<std::size_t>(2 * left_s / pilot.turn_s);
}

// What the pilot pairs of one cell came to.
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
      percent(asked.fraction), pairs, turns, duration_text(cost_s), kPilotPairs, percent(pilot.turn_deviation),
      pilot.start_s, pilot.turn_s);
}

std::string refusal_text(const Detection& asked, const Pilot& pilot, std::size_t pairs, double cost_s, double left_s) {
  return fmt::format(
      "finding {} takes {:.1f} minutes here ({} pairs, and a turn deviates by {}), and of --within {} {:.1f} "
      "minutes are left: nothing was tested; allow more, or --detect a larger difference",
      percent(asked.fraction), cost_s / 60, pairs, percent(pilot.turn_deviation),
      duration_text(asked.within_s.value_or(0)), std::max(0.0, left_s) / 60);
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
          "finding {} takes longer runs than --timeout allows, or is less than what two process runs differ by: a turn "
          "deviates by {}",
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
      cell.not_planned = "--detect plans pairs in turns, and its runs follow each other: " + cell.apart_because;
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

}  // namespace perfbench::harness
