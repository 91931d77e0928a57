#include "harness/pairs/side_execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <random>
#include <utility>
#include <vector>

#include "harness/evidence/program_metrics.h"
#include "harness/evidence/run_evidence.h"
#include "harness/evidence/run_metrics.h"
#include "harness/evidence/trace_file.h"
#include "harness/execute/machine_load.h"
#include "harness/pairs/turns.h"
#include "harness/stats/pairs.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "harness/trace/step_split.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

ExecutionSettings settings_of(const SideExecution& execution, Side side) {
  const auto& what = side == Side::a ? execution.a : execution.b;
  auto settings = execution.settings;
  settings.launcher.engine = what.engine;
  settings.launcher.engine_arguments = what.engine_arguments;
  settings.engine_sha256 = execution.engines_sha256[static_cast<std::size_t>(side)];
  return settings;
}

struct Executed {
  FinishedAttempt attempt;
  std::optional<std::int64_t> instructions;
};

Executed execute(const Cell& cell, const ExecutionSettings& settings, InstructionCounter& counter) {
  counter.start();
  auto attempt = execute_attempt(cell, settings, [](std::int64_t) {});
  const auto counted = counter.stop();
  // This machine only waited for an attempt that another one executed.
  return {attempt, attempt.surroundings ? attempt.surroundings->instructions : counted};
}

SideRun stored(const SideExecution& execution, Side side, const Executed& executed, const ForeignLoad& load) {
  try {
    auto run = store_side_run(*execution.db, executed.attempt.directory, executed.attempt.record);
    run.load = load;
    run.instructions = executed.instructions;
    if (executed.attempt.disturbed_by_job) run.state = AttemptState::quarantined;
    if (executed.attempt.cancel_seen) run.state = AttemptState::cancelled;
    return run;
  } catch (const InputError& e) {
    const auto& what = side == Side::a ? execution.a : execution.b;
    throw InputError(fmt::format("[compare] {} ({}): this perfbench does not understand the output of its engine: {}",
                                 spec::enum_name(side), what.asked, e.what()));
  }
}

// The step times of a run that ended well.
std::vector<double> step_times_of(const FinishedAttempt& attempt) {
  const auto evidence = read_run_directory(attempt.directory);
  if (!evidence) return {};
  if (evidence->run.program)
    return step_times_s(readers::settle(evidence->samples, readers::settle_rules(evidence->run.program->spec)));
  return step_times_s(evidence->steps);
}

}  // namespace

SideRun execute_side(const SideExecution& execution, const AbCell& cell, Side side, std::filesystem::path* directory) {
  wait_for_machine(cell.of(side), execution.settings);
  const auto before = load_moment();
  const auto executed = execute(cell.of(side), settings_of(execution, side), *execution.instructions);
  const auto& elsewhere = executed.attempt.surroundings;
  const auto load = elsewhere ? elsewhere->load : load_since(before);
  if (directory != nullptr) *directory = executed.attempt.directory;
  return stored(execution, side, executed, load);
}

void execute_in_turns(const SideExecution& execution, const AbCell& cell, std::uint64_t seed, ExecutedPair& pair,
                      StepsInTurns* steps) {
  wait_for_machine(cell.a, execution.settings);
  const auto before = load_moment();
  std::array<Executed, 2> executed;
  const auto player = [&](Side side) {
    return Player{.ranks = cell.of(side).run.mesh.devices(), .play = [&, side](const Seat& seat) {
                    auto settings = settings_of(execution, side);
                    settings.launcher.engine_arguments.insert(settings.launcher.engine_arguments.end(),
                                                              {"--turns", seat.folder.string()});
                    settings.cancel_fd = seat.cancel_fd;
                    settings.paused = seat.waited;
                    settings.on_start = seat.started;
                    const auto counter = hardware_instruction_counter();  // counts all that this thread starts
                    executed[static_cast<std::size_t>(side)] = execute(cell.of(side), settings, *counter);
                  }};
  };
  const auto second = pair.first == Side::a ? Side::b : Side::a;
  std::seed_seq sequence{seed & 0xffffffffU, seed >> 32U, std::uint64_t{pair.cell}, std::uint64_t{pair.number}};
  std::mt19937_64 lot(sequence);
  std::vector<FirstInTurn> order;
  const auto pair_first_begins = [&] {
    const bool begins = lot() % 2 == 0;
    order.push_back(begins == (pair.first == Side::a) ? FirstInTurn::a : FirstInTurn::b);
    return begins;
  };
  const auto waits = take_turns(player(pair.first), player(second), pair_first_begins, execution.settings.cancel_fd);
  pair.in_turns = true;
  const auto load = load_since(before);
  for (const auto side : {pair.first, second}) {
    pair.of(side) = stored(execution, side, executed[static_cast<std::size_t>(side)], load);
    pair.of(side).waits = waits[side == pair.first ? 0 : 1];
  }
  if (pair.a.state != AttemptState::ok || pair.b.state != AttemptState::ok) return;
  const auto step_s = [&executed](Side side) {
    return step_times_of(executed[static_cast<std::size_t>(side)].attempt);
  };
  StepsInTurns taken{.a_s = step_s(Side::a), .b_s = step_s(Side::b)};
  pair.step_log_ratio = median_log_ratio(taken.a_s, taken.b_s);
  pair.order_log_effect = order_log_effect(taken.a_s, taken.b_s, order);
  if (steps != nullptr) *steps = std::move(taken);
}

namespace {

constexpr std::int64_t kTracedSteps = 6;  // attribution uses the middle half

Cell with_traced_steps(Cell cell) {
  cell.run.trace_steps = std::max(cell.run.trace_steps, kTracedSteps);
  cell.run.profile = {};
  cell.run_id = run_id(cell.run);
  return cell;
}

}  // namespace

TracedPair trace_pair(const SideExecution& execution, const AbCell& cell) {
  const AbCell traced{.label = cell.label, .a = with_traced_steps(cell.a), .b = with_traced_steps(cell.b)};
  TracedPair out;
  std::vector<std::vector<StepSplit>> splits;
  for (const auto side : {Side::a, Side::b}) {
    std::filesystem::path directory;
    const auto run = execute_side(execution, traced, side, &directory);
    out.cancelled = run.state == AttemptState::cancelled;
    if (run.state != AttemptState::ok) {
      out.problem =
          fmt::format("the traced run of {} is {}: {}", spec::enum_name(side), spec::enum_name(run.state), run.reason);
      return out;
    }
    try {
      splits.push_back(split_steps(read_traces(directory, traced.of(side).run.mesh.devices())));
    } catch (const std::exception& e) {
      out.problem = e.what();
      return out;
    }
  }
  out.attribution = attribute({splits[0]}, {splits[1]});
  if (!out.attribution) out.problem = "a side's engine traced no step";
  return out;
}

}  // namespace perfbench::harness
