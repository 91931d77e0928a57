// Whether this machine can execute the cells that an engine has planned.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/execute/attempt_execution.h"
#include "harness/execute/machine_facts.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {

// Cells that a matrix plans for other machines are recorded with that reason and not started.
class RunnableCheck {
 public:
  // Its queries throw Cancelled once a byte can be read from `cancel_fd`.
  RunnableCheck(EngineProgram engine, int cancel_fd);

  // Why not, in one line; nullopt if it can. `planned` is feasible.
  std::optional<std::string> obstacle(const PlannedCell& planned);

 private:
  const EngineProgram engine_;
  const int cancel_fd_;
  const bool mpirun_;
  std::optional<EngineAnswer> answer_;  // queried for the first cell that depends on it
};

// Why perfbench cannot start the cell's program, because it has to be started on several nodes; nullopt if it can.
std::optional<std::string> why_launch_file(const Cell& cell, RunsWhere where);

// Checks that a command will be able to write its output at the end, before it measures for hours. Writes a file there
// and removes it again. `what` begins the message: "[nightly] --junit". Both throw InputError.

// For a file that output_file.h of harness/evidence will write: made or replaced in an existing folder, or written in
// place.
void require_writable_file(const std::string& what, const std::filesystem::path& file);

// For a folder that is created, with its parents, if it does not exist.
void require_writable_folder(const std::string& what, const std::filesystem::path& folder);

}  // namespace perfbench::harness
