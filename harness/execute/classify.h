// Reads the end of an engine's log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/execute/process.h"
#include "workloads/spec/engine_exit.h"
#include "workloads/spec/finiteness.h"
#include "workloads/spec/program_result.h"
#include "workloads/spec/run_summary.h"

namespace perfbench::harness {

// The last meaningful lines: without blank lines and mpirun's frames. At most `count`, the oldest first; empty if there
// is no log.
std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count);

// The messages of a launcher at the end of a log. Open MPI puts each of its messages between two lines of dashes, which
// distinguishes them from the output of ranks and libraries.
std::vector<std::string> launcher_messages(const std::filesystem::path& log);

struct RankSignal {
  std::int64_t rank = 0;
  int signal = 0;
};

// Parses mpirun's report of a rank's signal: "... process rank 1 with PID 77 on node n exited on signal 9 (Killed)."
std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines);

// Decides the state of an attempt from the way its processes ended. A pure function of the observations.
struct AttemptEvidence {
  ProcessEnd end;
  std::optional<spec::RunSummary> summary;  // result.json
  std::vector<std::string> log_lines;       // the end of engine.log
  std::vector<std::string> launcher_messages = {};
  std::int64_t ranks = 1;
  std::int64_t steps_recorded = 0;  // complete lines of steps.rank0.jsonl
  std::int64_t steps_wanted = 0;
  std::int64_t memory_limit_bytes = 0;     // that the harness enforced
  std::chrono::nanoseconds time_limit{0};  // that the harness enforced
  std::int64_t kernel_memory_kills = 0;    // by the kernel on this node while the attempt ran
  std::vector<std::string> damaged_files;  // one sentence each: "env.json is empty"
  std::optional<std::string> gpu_trouble;  // the GPU trouble that spoils the times of an attempt that ended well
  spec::Finiteness finiteness;             // of its steps
  bool is_program = false;                 // a training program, under perfbench-adapter
  std::optional<spec::ProgramResult> program_result = {};  // its result.json
};

struct AttemptOutcome {
  AttemptState state = AttemptState::ok;
  std::string reason;  // one line
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
};

// The state of an attempt whose program ended with this status.
AttemptState state_of(spec::ProgramStatus status);

AttemptOutcome classify(const AttemptEvidence& evidence);

}  // namespace perfbench::harness
