// One execution of a run, as the harness saw it: attempt.json, written beside the engine's own files when the attempt
// has ended. A run directory without it was cut off and is executed again.
//
//   RUNS/<first 16 digits of the run id>/<attempt, 001 ...>/
//     run.json            the engine's input (canonical RunSpec)
//     env.json            spec::EnvironmentRecord, by the engine
//     steps.rank<R>.jsonl  spec::StepRecord a line, by each rank
//     trace.rank<R>.jsonl  spec::TraceEvent a line, by each rank; only of runs with trace_steps or profile
//     trace.sqlite        the same under other names, by `perfbench trace --format sqlite`
//     gpu.rank<R>.jsonl    spec::GpuSample a line, by each rank that computes on a GPU
//     result.json         spec::RunSummary, by rank 0 or by a rank that failed; absent after a crash
//     engine.log          standard output and error of all ranks
//     attempt.json        this record, written last and atomically
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

// The names in a run directory.
inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kEnvironmentFile = "env.json";
inline constexpr const char* kResultFile = "result.json";
inline constexpr const char* kLogFile = "engine.log";
inline constexpr const char* kTraceDatabaseFile = "trace.sqlite";
inline constexpr const char* kAttemptFile = "attempt.json";
inline std::string gpu_file(std::int64_t rank) {
  return "gpu.rank" + std::to_string(rank) + ".jsonl";
}
inline std::string steps_file(std::int64_t rank) {
  return "steps.rank" + std::to_string(rank) + ".jsonl";
}
inline std::string trace_file(std::int64_t rank) {
  return "trace.rank" + std::to_string(rank) + ".jsonl";
}

// How an attempt or a cell ended. `excluded` and `infeasible` cells are recorded without being executed; a `diverged`
// one took all its steps, and lost its loss (workloads/spec/finiteness.h).
enum class AttemptState {
  ok,
  infeasible,
  excluded,
  out_of_memory,
  crashed,
  diverged,
  timed_out,
  cancelled,
  quarantined
};

// What a sweep was made for. The one place where that is said: no id and no name of a matrix means anything.
enum class SweepKind {
  imported,      // its attempts do not say: of an older perfbench, or outside a sweep
  night,         // of `perfbench nightly`: the history of a matrix is its nights
  hand,          // of `perfbench sweep`
  simulated,     // a night of a demonstration, made up or with a planted fault
  control,       // the fixed engine of a night
  comparison,    // the pairs of two sides: half of its runs are another engine's
  reproduction,  // of `perfbench reproduce`
};

// What the command that began a sweep said about its cells, word for word. `sweep --resume` begins with it.
struct SweepWords {
  std::vector<std::string> only;  // of --only
  std::vector<std::string> set;   // of --set; --device is one more

  bool operator==(const SweepWords&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"only", "the words of --only"}, self.only);
    f(Field{"set", "the words of --set"}, self.set);
  }
};

struct AttemptRecord {
  std::int64_t version = 1;
  std::string run_id;  // SHA-256 of the canonical run.json, 64 hex digits
  std::int64_t attempt = 1;
  AttemptState state = AttemptState::ok;
  std::string reason;  // one line: why infeasible, which signal, which error; of `ok`, what its reader must know
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;  // that ended a rank, 0 for none
  std::string started_utc;  // 2026-01-31T12:00:00Z
  std::int64_t wall_ns = 0;
  std::string matrix;  // name of the matrix
  std::string cell;    // label: the axis values, "model=llama-tiny fsdp=2"
  std::map<std::string, std::string> axes;
  std::vector<std::string> command;
  std::string sweep_id;  // groups the attempts of one `perfbench sweep`
  std::string perfbench_version;
  std::string only;  // the words of --only that chose the cells of the sweep; empty: all of the matrix
  SweepKind sweep_kind = SweepKind::imported;
  std::string engine_sha256;             // of the engine's file; empty: not known
  std::int64_t repeats = 0;              // that a sweep was to make of every cell, by hand; 0: as the matrix says
  std::optional<SweepWords> words = {};  // of a sweep by hand; absent: not known, or another kind

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"run_id", "hash of run.json"}, self.run_id);
    f(Field{"attempt", "counted from 1", 1}, self.attempt);
    f(Field{"state", "how it ended"}, self.state);
    f(Field{"reason", "why it ended so"}, self.reason);
    f(Field{"exit_code", "of the engine or its launcher"}, self.exit_code);
    f(Field{"signal", "that ended a rank, or 0", 0}, self.signal);
    f(Field{"started_utc", "when it began"}, self.started_utc);
    f(Field{"wall_ns", "how long it took", 0}, self.wall_ns);
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"cell", "label of the cell"}, self.cell);
    f(Field{"axes", "value of each axis"}, self.axes);
    f(Field{"command", "what was executed"}, self.command);
    f(Field{"sweep_id", "the sweep it belongs to"}, self.sweep_id);
    f(Field{"perfbench_version", "version of the harness"}, self.perfbench_version);
    f(Field{"selection", "which cells of the matrix the sweep was to run; empty: all"}.omitted_at_default(), self.only);
    f(Field{"sweep_kind", "what its sweep was made for"}.omitted_at_default(), self.sweep_kind);
    f(Field{"engine_sha256", "SHA-256 of the engine's file"}.omitted_at_default(), self.engine_sha256);
    f(Field{"repeats", "attempts of every cell that were asked for by hand", 0}.omitted_at_default(), self.repeats);
    f(Field{"words", "what the command that began its sweep said about the cells"}.omitted_at_default(), self.words);
  }
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::AttemptState> {
  using State = perfbench::harness::AttemptState;
  static constexpr std::array kNames{
      std::pair{State::ok, "ok"},
      std::pair{State::infeasible, "infeasible"},
      std::pair{State::excluded, "excluded"},
      std::pair{State::out_of_memory, "out_of_memory"},
      std::pair{State::crashed, "crashed"},
      std::pair{State::diverged, "diverged"},
      std::pair{State::timed_out, "timed_out"},
      std::pair{State::cancelled, "cancelled"},
      std::pair{State::quarantined, "quarantined"},
  };
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::SweepKind> {
  using Kind = perfbench::harness::SweepKind;
  static constexpr std::array kNames{std::pair{Kind::imported, "imported"},
                                     std::pair{Kind::night, "night"},
                                     std::pair{Kind::hand, "hand"},
                                     std::pair{Kind::simulated, "simulated"},
                                     std::pair{Kind::control, "control"},
                                     std::pair{Kind::comparison, "comparison"},
                                     std::pair{Kind::reproduction, "reproduction"}};
};

namespace perfbench::harness {

// AttemptRecord to and from JSON text (one line, canonical).
std::string to_json_line(const AttemptRecord& record);

// Throws spec::SpecError.
AttemptRecord parse_attempt(std::string_view text);

}  // namespace perfbench::harness
