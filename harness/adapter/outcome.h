// Makes result.json from the output of a program and the way it ended. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/settle.h"
#include "workloads/spec/program_result.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// The cause of a failure that a line of a log reveals, and its remedy.
struct Hint {
  std::string text;
  spec::ProgramStatus status = spec::ProgramStatus::crashed;
};
std::optional<Hint> hint_in(std::string_view line);

struct ProgramEnd {
  bool stopped = false;  // the adapter was told to stop it
  int exit_code = 0;
  int signal = 0;
  std::int64_t wall_ns = 0;
  std::int64_t startup_ns = 0;
  std::int64_t resident_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t dropped_bytes = 0;
  std::int64_t samples = 0;
  std::int64_t children_left = 0;
  std::int64_t lines = 0;
  std::string last_line;                   // the last line that is not blank
  bool finished_line_seen = false;         // FinishedWhen::line
  std::optional<Hint> hint;                // the first hint in its log
  std::vector<std::string> other_readers;  // readers that find records in the log, if the named one finds none
  std::vector<std::string> missing_files;  // one sentence for each metric file
  std::vector<std::string> notes;
};

spec::ProgramResult judge_program(const spec::ProgramSpec& program, const ProgramEnd& end,
                                  const readers::Settled& settled);

// Why a command could not be started, from errno.
std::string start_problem(const std::string& command, const std::string& workdir, int error);

// The reason not to start the program at all; empty if there is none.
std::string problem_before_start(const spec::ProgramSpec& program, bool with_turns,
                                 const std::vector<std::string>& set_variables);

}  // namespace perfbench::adapter
