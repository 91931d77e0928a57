// A training program as it starts: templates filled in, and the facts that say which program it was.
#pragma once

#include <filesystem>
#include <string>

#include "workloads/spec/program_spec.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

struct Cell;

// The values of the templates that no cell decides. They are not part of a run's identity.
struct ProgramPlace {
  std::filesystem::path repo = {};  // {repo}; empty: none was given
  std::filesystem::path cwd = {};   // {cwd}: where perfbench was started
};

// {python} is PERFBENCH_PYTHON of the environment, else python3 of PATH. Throws LaunchError where a template has no
// value here.
spec::ProgramSpec program_to_start(const spec::RunSpec& run, const ProgramPlace& place,
                                   const std::filesystem::path& attempt_dir);

// SHA-256 over what decides which program it was: the commit of its repository with uncommitted changes, and the files
// that its command names. It takes the place of an engine's digest.
std::string program_digest(const spec::ProgramSpec& program);
// The same of the program that the cell would start here now.
std::string program_digest(const Cell& cell);

}  // namespace perfbench::harness
