// What the end of an engine's log says.
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
#include "workloads/spec/run_summary.h"

namespace perfbench::harness {

// The last lines that say something: without blank lines and mpirun's frames. At most `count`, the oldest first; empty
// when there is no log.
std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count);

// What a launcher says in the end of a log, one text a message. Open MPI puts each of its own between two lines of
// dashes, so that it is told from what ranks and libraries print.
std::vector<std::string> launcher_messages(const std::filesystem::path& log);

struct RankSignal {
  std::int64_t rank = 0;
  int signal = 0;
};

// mpirun reports a rank's signal in words: "... process rank 1 with PID 77 on node n exited on signal 9 (Killed)."
std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines);

// From how the processes ended to the state of the attempt. A pure function over what was seen.
struct AttemptEvidence {
  ProcessEnd end;
  std::optional<spec::RunSummary> summary;  // result.json
  std::vector<std::string> log_lines;       // the end of engine.log
  std::vector<std::string> launcher_messages = {};
  std::int64_t ranks = 1;
  std::int64_t steps_recorded = 0;  // whole lines of steps.rank0.jsonl
  std::int64_t steps_wanted = 0;
  std::int64_t memory_limit_bytes = 0;     // that the harness enforced
  std::chrono::nanoseconds time_limit{0};  // that the harness enforced
  std::int64_t kernel_memory_kills = 0;    // by the kernel on this node while the attempt ran
  std::vector<std::string> damaged_files;  // a sentence each: "env.json is empty"
  std::optional<std::string> gpu_trouble;  // what spoils the times of an attempt that ended well
  spec::Finiteness finiteness;             // of its steps
};

struct AttemptOutcome {
  AttemptState state = AttemptState::ok;
  std::string reason;  // one line
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
};

AttemptOutcome classify(const AttemptEvidence& evidence);

}  // namespace perfbench::harness
