// The command run: the life of one training run on one rank.
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/checkpoint/restore.h"
#include "engine/faults/faults.h"
#include "engine/main/arguments.h"
#include "engine/main/backend.h"
#include "engine/main/commands.h"
#include "engine/main/failing_rank.h"
#include "engine/main/gpu_environment.h"
#include "engine/main/machine_facts.h"
#include "engine/main/turns.h"
#include "engine/metrics/environment.h"
#include "engine/metrics/record_files.h"
#include "engine/trace/nvtx_ranges.h"
#include "engine/train/traced_steps.h"
#include "engine/train/trainer.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

// This process's place among the ranks of the run.
struct Ranks {
  std::unique_ptr<Processes> processes;  // null with one rank
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t on_node = 1;
};

Ranks join_ranks(const spec::RunSpec& run) {
  Ranks ranks;
  const std::int64_t launched = launched_ranks();
  if (launched != run.mesh.devices()) {
    throw BadInput("the mesh has " + std::to_string(run.mesh.devices()) +
                   " ranks, but this process was started as one of " + std::to_string(launched) +
                   "; start it with mpirun -np " + std::to_string(run.mesh.devices()));
  }
  if (launched == 1) return ranks;
  ranks.processes = make_mpi_processes();
  ranks.rank = ranks.processes->rank();
  ranks.size = ranks.processes->size();
  ranks.on_node = ranks.processes->ranks_on_node();
  return ranks;
}

// Facts that the ranks exchange, as bytes.
struct RankFacts {
  spec::RankMemory memory;
  spec::FlopCounts flops;
};
static_assert(std::is_trivially_copyable_v<RankFacts>);

// Collective: every rank must call it.
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

// Counts of the last step on this rank.
struct StepCounts {
  spec::FlopCounts flops;
  std::vector<spec::AxisTraffic> traffic;
};

spec::RunSummary summary_of(const spec::RunSpec& run, const Context& context, StepCounts counts_of_step,
                            const std::vector<RankFacts>& ranks) {
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
          .traffic = std::move(counts_of_step.traffic),
          .parameters = counts.total,
          .matmul_parameters = counts.matmul_active,
          .attention_kernels = context.ops.attention_kernels(),
          .ranks = std::move(memory)};
}

// Writes the GPU's telemetry of the steps. Does nothing for a device without telemetry.
class GpuSampleFile {
 public:
  GpuSampleFile(GpuTelemetry* telemetry, const fs::path& path) : telemetry_(telemetry) {
    if (telemetry_ != nullptr) file_.emplace(path);
  }
  void begin_step(std::int64_t step) {
    if (telemetry_ != nullptr) telemetry_->begin_step(step);
  }
  void end_step() {
    if (telemetry_ == nullptr) return;
    for (const auto& sample : telemetry_->end_step()) file_->append(spec::to_json_line(sample));
  }

 private:
  GpuTelemetry* telemetry_;
  std::optional<LineFile> file_;
};

void finish_trace(StepTracer& tracer, const fs::path& dir, const spec::RunSpec& run, std::int64_t rank,
                  std::int64_t first_step) {
  const auto file = dir / ("trace.rank" + std::to_string(rank) + ".jsonl");
  const auto problem = tracer.finish(file, first_step, run.trace_steps);
  if (problem.empty()) return;
  std::fprintf(stderr, "perfbench-engine: rank %lld: the trace is incomplete: %s\n", static_cast<long long>(rank),
               problem.c_str());
}

// Waits for all ranks, so that a rank's work on the records of a traced step is not in another rank's next step.
void meet(Processes& processes) {
  std::vector<std::byte> all(static_cast<std::size_t>(processes.size()));
  const std::byte own{};
  processes.all_gather(all, std::span(&own, 1));
}

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

// The objects that a rank trains with, and the faults injected into it.
struct Setup {
  const Arguments& arguments;
  const spec::RunSpec& run;
  const Ranks& ranks;
  Faults* faults = nullptr;
  std::int64_t threads = 1;
  std::int64_t started_ns = 0;
};

// For task eval the steps were the evaluation; a run that trains evaluates now.
spec::EvaluationResult evaluation(Trainer& trainer) {
  trainer.evaluate_at_end();
  const auto* const evaluator = trainer.evaluator();
  return evaluator == nullptr ? spec::EvaluationResult{} : evaluator->result();
}

// Restores what the run starts from, and opens the folder of its own checkpoints.
spec::CheckpointCosts begin(const Setup& setup, Assembly& assembly) {
  spec::CheckpointCosts costs;
  const auto& checkpoint = setup.run.checkpoint;
  Trainer& trainer = assembly.trainer();
  if (checkpoint.restores()) {
    const std::int64_t begun_ns = monotonic_ns();
    const std::int64_t taken = restore_checkpoint(assembly.context(), setup.run, trainer.parameters(), trainer.fp8());
    costs.restore_ns = monotonic_ns() - begun_ns;
    if (setup.run.trains()) costs.first_step = taken;
  }
  if (trainer.saver() != nullptr) {
    trainer.saver()->open(checkpoint.path.empty() ? setup.arguments.dir / "checkpoints" : fs::path(checkpoint.path),
                          costs.first_step);
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

void take_steps(const Setup& setup, Assembly& assembly) {
  const auto& dir = setup.arguments.dir;
  const auto& run = setup.run;
  Context& context = assembly.context();
  LineFile steps(dir / ("steps.rank" + std::to_string(setup.ranks.rank) + ".jsonl"));
  GpuSampleFile gpu(assembly.telemetry(), dir / ("gpu.rank" + std::to_string(setup.ranks.rank) + ".jsonl"));
  const auto ranges = nvtx_wanted_in_timed_steps() ? make_nvtx_ranges(nullptr) : nullptr;
  Tensor held_by_fault;
  if (setup.faults != nullptr) {
    held_by_fault = setup.faults->begin(context.memory, context.ops);
    context.filter = setup.faults;
  }
  spec::CheckpointCosts checkpoint = begin(setup, assembly);
  CheckpointSaver* const saver = assembly.trainer().saver();
  context.set_trace(ranges.get());
  RunClock* const own_clock = setup.faults != nullptr ? setup.faults->clock() : nullptr;  // only in a demonstration
  const std::int64_t startup_ns = own_clock != nullptr ? own_clock->startup_ns() : monotonic_ns() - setup.started_ns;
  std::optional<StepTracer> tracer;
  if (run.traces()) tracer.emplace(context, assembly.trainer(), run, assembly.tracer());
  Turns turns(setup.arguments.turns, setup.ranks.rank);
  const std::int64_t end = checkpoint.first_step + run.steps;
  for (std::int64_t i = checkpoint.first_step; i < end; ++i) {
    turns.wait();
    const std::int64_t probe_ns =
        own_clock != nullptr ? own_clock->probe_ns() : assembly.probe_noise(static_cast<int>(setup.threads));
    context.ops.reset_flops();
    context.collectives.reset_traffic();
    gpu.begin_step(i);
    auto record = tracer ? tracer->timed_step(i) : assembly.trainer().step(i);
    gpu.end_step();
    record.probe_ns = probe_ns;
    if (saver != nullptr) save(*saver, record);
    steps.append(spec::to_json_line(record));
    if (record.traced != 0) {
      context.set_trace(ranges.get());
      if (setup.ranks.processes) meet(*setup.ranks.processes);
    }
  }
  if (saver != nullptr) saver->finish();
  turns.wait();  // the end of this run would disturb the other's last step
  StepCounts counts{context.ops.flops(), context.collectives.traffic()};
  const auto evaluated = evaluation(assembly.trainer());
  const auto facts = facts_of_ranks(setup.ranks, context, counts.flops);
  if (setup.ranks.rank == 0) {
    auto summary = summary_of(run, context, std::move(counts), facts);
    summary.startup_ns = startup_ns;
    summary.evaluation = evaluated;
    summary.checkpoint = with_saves(checkpoint, saver);
    write_whole_file(dir / "result.json", spec::to_json_line(summary) + "\n");
  }
  // Only after the result is safe: traced steps are neither timed nor summed up.
  if (tracer) finish_trace(*tracer, dir, run, setup.ranks.rank, end);
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
    take_steps({arguments, run, ranks, faults.get(), threads, started_ns}, assembly);
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
