// One execution of a run, as the harness recorded it: attempt.json, written beside the engine's own files when the
// attempt has ended. An attempt without it was interrupted and is executed again.
//
//     RUNS/<first 16 digits of the run id>/<attempt, 001 ...>/
//         run.json            the engine's input (canonical RunSpec)
//         env.json            spec::EnvironmentRecord, by the engine
//         steps.rank<R>.jsonl  one spec::StepRecord a line, by each rank
//         trace.rank<R>.jsonl  one spec::TraceEvent a line, by each rank; only for runs with trace_steps or profile
//         trace.sqlite        the same events as a database, by `perfbench trace --format sqlite`
//         gpu.rank<R>.jsonl    one spec::GpuSample a line, by each rank that computes on a GPU
//         result.json         spec::RunSummary, by rank 0 or by a rank that failed; absent after a crash
//         engine.log          standard output and error of all ranks
//         attempt.json        this record, written last and atomically
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

// The file names in a run directory.
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

// How an attempt or a cell ended. `excluded` and `infeasible` cells are recorded without being executed. A `diverged`
// attempt took all its steps, but its loss stopped being a finite number (workloads/spec/finiteness.h).
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

// The purpose of a sweep. It is recorded only here: no id and no name of a matrix implies it.
enum class SweepKind {
  imported,      // unknown, because the attempts were made by an older perfbench or outside a sweep
  night,         // by `perfbench nightly`: the history of a matrix consists of its nights
  hand,          // by `perfbench sweep`
  simulated,     // a night of a demonstration, simulated or with a planted fault
  control,       // the fixed engine of a night's control
  comparison,    // the pairs of two sides: half of its runs use another engine
  reproduction,  // by `perfbench reproduce`
};

// The options of the command that began a sweep, word for word. `sweep --resume` starts from them.
struct SweepWords {
  std::vector<std::string> only;          // the words of --only
  std::vector<std::string> set;           // the words of --set, and --device as one more
  std::vector<std::string> program;       // the word of --program, if it was given
  std::vector<std::string> program_repo;  // the folder of --program-repo, if it was given

  bool operator==(const SweepWords&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"only", "the words of --only"}, self.only);
    f(Field{"set", "the words of --set"}, self.set);
    f(Field{"program", "the word of --program"}.omitted_at_default(), self.program);
    f(Field{"program_repo", "the folder of --program-repo"}.omitted_at_default(), self.program_repo);
  }
};

// The job of a scheduler, or of another machine, in which an attempt was executed.
struct JobPlace {
  std::string launcher;  // "slurm"
  std::string job;       // its number or name there
  std::string nodes;     // as the launcher names them: "n[1-2]"
  std::string image;     // its id, or its name where the launcher does not tell the id; empty: no container

  bool operator==(const JobPlace&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"launcher", "what started the job"}, self.launcher);
    f(Field{"job", "its number or name there"}, self.job);
    f(Field{"nodes", "the nodes of the job"}, self.nodes);
    f(Field{"image", "the image that it ran in"}.omitted_at_default(), self.image);
  }
};

struct AttemptRecord {
  std::int64_t version = 1;
  std::string run_id;  // SHA-256 of the canonical run.json, 64 hex digits
  std::int64_t attempt = 1;
  AttemptState state = AttemptState::ok;
  std::string reason;  // one line: why infeasible, which signal, which error; for `ok`, a note for the reader
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;  // the signal that ended a rank, 0 if none did
  std::string started_utc;  // 2026-01-31T12:00:00Z
  std::int64_t wall_ns = 0;
  std::string matrix;  // name of the matrix
  std::string cell;    // label: the axis values, "model=llama-tiny fsdp=2"
  std::map<std::string, std::string> axes;
  std::vector<std::string> command;
  std::string sweep_id;  // groups the attempts of one `perfbench sweep`
  std::string perfbench_version;
  std::string only;  // the words of --only that selected the cells of the sweep; empty: the whole matrix
  SweepKind sweep_kind = SweepKind::imported;
  std::string engine_sha256;  // SHA-256 of the engine's file; empty: unknown
  std::int64_t repeats = 0;   // runs of every cell that a sweep by hand was asked for; 0: as many as the matrix says
  std::optional<SweepWords> words = {};  // of a sweep by hand; nullopt: unknown, or another kind of sweep
  std::optional<JobPlace> job = {};      // nullopt: executed where perfbench ran
  bool without_lock = false;             // it did not wait for other measurements on its machine

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
    f(Field{"selection", "cells of the matrix that the sweep was to run; empty: all"}.omitted_at_default(), self.only);
    f(Field{"sweep_kind", "purpose of its sweep"}.omitted_at_default(), self.sweep_kind);
    f(Field{"engine_sha256", "SHA-256 of the engine's file"}.omitted_at_default(), self.engine_sha256);
    f(Field{"repeats", "attempts of every cell that the user requested", 0}.omitted_at_default(), self.repeats);
    f(Field{"words", "options of the command that began its sweep"}.omitted_at_default(), self.words);
    f(Field{"job", "the job in which it was executed"}.omitted_at_default(), self.job);
    f(Field{"without_lock", "whether others may have measured beside it"}.omitted_at_default(), self.without_lock);
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

// Converts an AttemptRecord to JSON text (one line, canonical) and back.
std::string to_json_line(const AttemptRecord& record);

// Throws spec::SpecError.
AttemptRecord parse_attempt(std::string_view text);

}  // namespace perfbench::harness
