// A training program at its start: filled-in templates, and the facts that identify the program.
#pragma once

#include <filesystem>
#include <string>

#include "workloads/spec/program_spec.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

struct Cell;

// Values of templates that do not depend on the cell. They are not part of a run's identity.
struct ProgramPlace {
  std::filesystem::path repo = {};  // {repo}; empty: none was given
  std::filesystem::path cwd = {};   // {cwd}: the folder in which perfbench was started
  // A program that is started once has one node.
  std::string coordinator = "localhost";
  std::string node_rank = "0";
};

// {python} is PERFBENCH_PYTHON of the environment, or else python3 in PATH. Throws LaunchError if a template has no
// value here, or the image of its container is not on this machine.
spec::ProgramSpec program_to_start(const spec::RunSpec& run, const ProgramPlace& place,
                                   const std::filesystem::path& attempt_dir);

// SHA-256 over the facts that identify the program (program_facts.h). It takes the place of an engine's digest.
std::string program_digest(const spec::ProgramSpec& program);
// The digest of the program that the cell would start here now.
std::string program_digest(const Cell& cell);

}  // namespace perfbench::harness
