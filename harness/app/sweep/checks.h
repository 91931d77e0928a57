// Whether this machine can execute the cells that an engine has planned.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/execute/machine_facts.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {

// What a matrix plans for other machines is recorded with that reason, not started.
class RunnableCheck {
 public:
  // Throws Cancelled, later, once a byte can be read from `cancel_fd`.
  RunnableCheck(EngineProgram engine, int cancel_fd);

  // Why not, in one line; nothing if it can. `planned` is feasible.
  std::optional<std::string> obstacle(const PlannedCell& planned);

 private:
  const EngineProgram engine_;
  const int cancel_fd_;
  const bool mpirun_;
  std::optional<EngineAnswer> answer_;  // asked when the first cell comes that depends on it
};

// Whether what a command writes at its end can be written, asked before it measures for hours.
// By writing a file there and removing it again. `what` begins the message: "[nightly] --junit". Both throw InputError.

// A file as output_file.h of harness/evidence writes it: made or replaced in a folder that exists, or written in place.
void require_writable_file(const std::string& what, const std::filesystem::path& file);

// A folder that is made where it is absent, with those above it.
void require_writable_folder(const std::string& what, const std::filesystem::path& folder);

}  // namespace perfbench::harness
