// The command run: the life of one training run on one rank.
#include <omp.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/restore.h"
#include "engine/core/monotonic_clock.h"
#include "engine/faults/faults.h"
#include "engine/main/arguments.h"
#include "engine/main/backend.h"
#include "engine/main/commands.h"
#include "engine/main/failing_rank.h"
#include "engine/main/gpu_environment.h"
#include "engine/main/instrumentation.h"
#include "engine/main/machine_facts.h"
#include "engine/main/ranks.h"
#include "engine/main/run_result.h"
#include "engine/metrics/environment.h"
#include "engine/metrics/record_files.h"
#include "engine/train/assembly.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

struct Arguments {
  fs::path dir;
  fs::path turns;                   // empty: the run steps without waiting for turns
  std::vector<std::string> inject;  // engine/faults/faults.h
};

Arguments parse_arguments(const std::vector<std::string>& args) {
  Arguments out;
  for (std::size_t i = 0; i < args.size(); i += 2) {
    if (i + 1 == args.size()) throw UsageError("run: " + args[i] + " needs a value");
    if (args[i] == "--dir") {
      out.dir = args[i + 1];
    } else if (args[i] == "--turns") {
      out.turns = args[i + 1];
    } else if (args[i] == "--inject") {
      out.inject.push_back(args[i + 1]);
    } else {
      throw UsageError("run: unknown argument '" + args[i] + "'");
    }
  }
  if (out.dir.empty()) throw UsageError("run needs --dir DIR");
  return out;
}

// For task eval the steps were the evaluation; a run that trains evaluates now.
spec::EvaluationResult evaluation(Trainer& trainer) {
  trainer.evaluate_at_end();
  const auto* const evaluator = trainer.evaluator();
  return evaluator == nullptr ? spec::EvaluationResult{} : evaluator->result();
}

// Restores what the run starts from, and opens the folder of its own checkpoints.
spec::CheckpointCosts restore(const fs::path& dir, const spec::RunSpec& run, Assembly& assembly) {
  spec::CheckpointCosts costs;
  const auto& checkpoint = run.checkpoint;
  Trainer& trainer = assembly.trainer();
  if (checkpoint.restores()) {
    const std::int64_t begun_ns = monotonic_ns();
    const std::int64_t taken = restore_checkpoint(assembly.context(), run, trainer.parameters(), trainer.fp8());
    costs.restore_ns = monotonic_ns() - begun_ns;
    if (run.trains()) costs.first_step = taken;
  }
  if (trainer.saver() != nullptr) {
    trainer.saver()->open(checkpoint.path.empty() ? dir / "checkpoints" : fs::path(checkpoint.path), costs.first_step);
  }
  return costs;
}

spec::CheckpointCosts with_saves(spec::CheckpointCosts costs, const CheckpointSaver* saver) {
  if (saver == nullptr) return costs;
  costs.saves = saver->costs().saves;
  costs.bytes = saver->costs().bytes;
  costs.save_ns = saver->costs().save_ns;
  return costs;
}

// The wait for a save is part of the step.
void save(CheckpointSaver& saver, spec::StepRecord& record) {
  record.checkpoint_ns = saver.after_steps(record.step + 1);
  record.wall_ns += record.checkpoint_ns;
}

// Restores the state that the run begins from, takes its steps, and writes its result.
void take_steps(const Instrumentation::Options& options, const spec::RunSpec& run, const Ranks& ranks,
                std::int64_t started_ns, Assembly& assembly) {
  Trainer& trainer = assembly.trainer();
  Instrumentation instrumentation(options, run, ranks, assembly);
  auto checkpoint = restore(options.dir, run, assembly);
  CheckpointSaver* const saver = trainer.saver();
  const std::int64_t startup_ns = instrumentation.begin_steps(started_ns);
  const std::int64_t end = checkpoint.first_step + run.steps;
  for (std::int64_t i = checkpoint.first_step; i < end; ++i) {
    auto record = instrumentation.step(i);
    if (saver != nullptr) save(*saver, record);
    instrumentation.write(record);
  }
  if (saver != nullptr) saver->finish();
  instrumentation.end_steps();
  const auto counts = counts_of_step(assembly.context());  // an evaluation adds to them
  const auto evaluated = evaluation(trainer);
  auto result = run_result(run, ranks, assembly.context(), counts);
  result.startup_ns = startup_ns;
  result.evaluation = evaluated;
  result.checkpoint = with_saves(checkpoint, saver);
  if (ranks.rank == 0) write_whole_file(options.dir / "result.json", spec::to_json_line(result) + "\n");
  instrumentation.trace_further_steps(end);
}

void train(const Arguments& arguments, const spec::RunSpec& run, Ranks& ranks, std::int64_t started_ns) {
  const auto faults = make_faults(arguments.inject, run.device);
  const std::int64_t threads = resolved_threads(run.threads_per_rank, ranks.on_node);
  omp_set_num_threads(static_cast<int>(threads));
  if (ranks.rank == 0) {
    write_whole_file(arguments.dir / "env.json", spec::to_json_line(machine_facts(ranks.size, threads)) + "\n");
  }
  Backend backend = make_backend(run, ranks.processes.get(), arguments.dir);
  if (faults) {
    if (auto ops = faults->make_ops()) backend.ops = std::move(ops);
  }
  Assembly::Options options{.memory = {.limit_bytes = run.memory_limit_bytes}, .data = make_run_data(run)};
  RunClock* const own_clock = faults ? faults->clock() : nullptr;
  if (own_clock != nullptr) options.clock = [own_clock] { return own_clock->now(); };
  Assembly assembly(run, std::move(backend), std::move(options));
  ending_all_ranks({arguments.dir, ranks.rank, ranks.processes.get()}, [&] {
    take_steps(
        {.dir = arguments.dir, .turns = arguments.turns, .faults = faults.get(), .threads = static_cast<int>(threads)},
        run, ranks, started_ns, assembly);
  });
}

}  // namespace

EngineExit run_command(const std::vector<std::string>& args) {
  const std::int64_t started_ns = monotonic_ns();
  const auto arguments = parse_arguments(args);
  const auto& dir = arguments.dir;
  Ranks ranks;
  try {
    const spec::RunSpec run = load_run(dir / "run.json");
    prepare_gpu_environment(run);
    ranks = join_ranks(run);
    train(arguments, run, ranks, started_ns);
    return EngineExit::ok;
  } catch (const std::exception& e) {
    return end_run({dir, ranks.rank, ranks.processes.get()}, e);
  }
}

}  // namespace perfbench::engine
